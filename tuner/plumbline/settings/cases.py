"""Which calls are measured, and what is compared."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from plumbline.core.application import Application
from plumbline.core.plan import TYPE_BYTES

EVERY = "all"  # in place of ids of guidelines: also those that are not verified by default

# The message sizes of the seed's Table 4 (PGMPI, section 5.1), 1 B to 100 KiB.
SIZES = [1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 1500, 2048, 4096, 5000, 8192, 10000]
SIZES += [16384, 32768, 102400]


class Cases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is called, and what is compared."""

    sizes: list[int] = msgspec.field(default_factory=lambda: list(SIZES))
    """Communication volumes in bytes, beside those of a `profile` (then none by default)."""
    type: str = "MPI_BYTE"
    """MPI datatype."""
    op: str = "MPI_BOR"
    """MPI reduction operator."""
    root: int = 0
    """Root of rooted functions."""
    guidelines: list[str] = []
    """Ids of guidelines to verify, or `all` of them; empty: most of them."""
    functions: list[str] = []
    """Functions that are verified too, for monotony and split-robustness; MPI_Ibcast and
    the like also against the blocking one."""
    profile: Application | None = None
    """An application's calls, as `plumbline profile` wrote them (docs/application.md)."""

    def canonical(self) -> Cases:
        return msgspec.structs.replace(
            self, sizes=sorted(set(self.sizes)), functions=sorted(set(self.functions))
        )

    def problems(self, nprocs: int) -> Iterator[str]:
        few = len(set(self.sizes)) < 2 and self.profile is None
        if few or min(self.sizes, default=1) < 1:
            yield "sizes must be positive and at least two"
        if self.type not in TYPE_BYTES:
            yield f"type must be one of {', '.join(TYPE_BYTES)}"
        if not 0 <= self.root < nprocs:
            yield "root must be a rank"
