"""Settings that are in force in every launch, and are not searched: they are measured as part of
the library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The loader, Open MPI's list, hydra's file and Intel MPI's tools split paths at these characters.
_TAKEN_APART = re.compile(r"[\s;:,=$'\"\\#]")


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings that are in force in every launch, and are not searched."""

    environment: dict[str, str] = {}
    """Variables that are in force in every launch, in place of the shell's."""
    preload: list[str] = []
    """Libraries that every launch preloads, behind ours (docs/profile.md)."""

    def canonical(self) -> Fixed:
        return Fixed(
            environment=dict(sorted(self.environment.items())),
            preload=list(dict.fromkeys(self.preload)),
        )

    def problems(self, *, simulated: bool) -> Iterator[str]:
        for name in self.environment:
            if not _VARIABLE.match(name):
                yield f"environment: {name!r} is not the name of a variable"
        if "LD_PRELOAD" in self.environment:
            yield (
                "environment: LD_PRELOAD: a campaign searches with a library of its own, "
                'which comes first; name others by the key preload = ["/path/tool.so"]'
            )
        if self.preload and simulated:
            yield (
                "preload: simulated ranks are no processes to preload into; link the library into "
                "the program (docs/simulated.md)"
            )
        for name in self.preload:
            if not Path(name).is_file():
                yield f"preload: the file {name!r} does not exist; name a library"
            unfit = _TAKEN_APART.search(name)
            if unfit:
                yield (
                    f"preload: {name}: mpirun or the loader would split this path at "
                    f"{unfit[0]!r}; move it to a path without"
                )
