"""Settings that say which calls are measured, what is compared, and when a guideline is
violated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from plumbline.core.application import Application
from plumbline.core.guidelines import EVERY
from plumbline.core.plan import IN_BLOCKS, TYPE_BYTES, Data, rounding

# The default start scheme, and the start scheme on a simulated machine and in searches among cold
# knobs elsewhere: there the library's barriers are changed for a whole launch.
BARRIER, OWN_BARRIER = "barrier", "dissemination"

# The ways of use that a campaign can measure, and the start schemes of each, the default first.
# docs/design/plan-and-records.md describes how `loop` and `stream` start.
SYNCHRONISED = "synchronised"
AFTER_BARRIER = "after_barrier"
AT_ROOT = "at_root"  # of suites and single measurements: no campaign is about it
USES: dict[str, tuple[str, ...]] = {
    SYNCHRONISED: ("window", "roundtime"),
    AFTER_BARRIER: (BARRIER,),
    "loop": (),
    "stream": (),
}


class WayOfUse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A way in which calls are used (docs/uses.md); a simulated machine has one way."""

    use: str = ""
    """Way of use: synchronised, after_barrier (usual with more ranks than cores), loop, stream."""
    sync: str = ""
    """Start scheme: barrier, dissemination, window, roundtime, none; default: as in `use`."""

    @property
    def is_named(self) -> bool:
        return bool(self.use or self.sync)

    def start_scheme(self, *, simulated: bool) -> str:
        usual = OWN_BARRIER if simulated else BARRIER
        return self.sync or next(iter(USES.get(self.use, ())), usual)

    def canonical(self) -> WayOfUse:
        """A start scheme says the way of use, where one has it, and the usual one is not named."""
        ways = (use for use, schemes in USES.items() if self.sync in schemes)
        use = self.use or next(ways, "")
        return WayOfUse(use=use, sync="" if self.sync in USES.get(use, ())[:1] else self.sync)

    def problems(self, *, simulated: bool) -> Iterator[str]:
        if self.use not in ("", *USES):
            yield f"use must be one of {', '.join(USES)}"
        if self.use and self.sync and self.sync not in USES[self.use]:
            yield f"sync = {self.sync} is not a start scheme of use = {self.use}"
        if simulated and self.use:
            yield "a simulated machine has one way of use"


# The message sizes of the seed's Table 4 (PGMPI, section 5.1), 1 B to 100 KiB.
SIZES = [1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 1500, 2048, 4096, 5000, 8192, 10000]
SIZES += [16384, 32768, 102400]
# The sizes were chosen for so many ranks; with more ranks, functions in blocks keep these blocks.
_RANKS = 4
OTHERS = "others"  # in place of a function, in a table of sizes


class Cases(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The calls, and what is compared."""

    sizes: list[int] | dict[str, list[int]] = msgspec.field(default_factory=lambda: list(SIZES))
    """Volumes in bytes, or a table of them by function (docs/campaign.md)."""
    block_sizes: list[int] = []
    """Bytes of a block for each rank, in place of volumes made of blocks (docs/campaign.md)."""
    type: str = ""
    """MPI datatype of all functions; default: MPI_FLOAT for reductions, otherwise MPI_BYTE."""
    op: str = ""
    """MPI reduction operator; default: MPI_SUM, for MPI_BYTE MPI_BOR."""
    root: int = 0
    """Root of rooted functions."""
    guidelines: list[str] = []
    """Ids of guidelines to verify, or `all`; default: the usual set."""
    functions: list[str] = []
    """Functions that are verified too, for monotony and split-robustness; MPI_Ibcast and
    the like also against the blocking one."""
    profile: Application | None = None
    """An application's calls, as `plumbline profile` wrote them (docs/application.md)."""

    @property
    def data(self) -> Data:
        """Return what is sent, as a plan has it."""
        return Data(self.type, self.op, self.root)

    def canonical(self) -> Cases:
        sizes = self.sizes
        return msgspec.structs.replace(
            self,
            sizes={name: sorted(set(sizes[name])) for name in sorted(sizes)}
            if isinstance(sizes, dict)
            else sorted(set(sizes)),
            block_sizes=sorted(set(self.block_sizes)),
            guidelines=[id if id == EVERY else id.upper() for id in self.guidelines],
            functions=sorted(set(self.functions)),
        )

    def every_size(self) -> Iterator[list[int]]:
        """Each list of sizes that was given."""
        for _, sizes in self._lists():
            yield sizes

    def _lists(self) -> Iterator[tuple[str, list[int]]]:
        """Return each list with its key."""
        by_function = self.sizes if isinstance(self.sizes, dict) else {"": self.sizes}
        for sizes in by_function.values():
            yield "sizes", sizes
        if self.block_sizes:
            yield "block_sizes", self.block_sizes

    def volumes(self, function: str, nprocs: int, most: int) -> list[int]:
        """Return the volumes at which a function is measured; by default at `most` bytes, as far as
        there are larger blocks than these sizes have."""
        sizes = self.sizes
        by_function = sizes if isinstance(sizes, dict) else {}
        if function in by_function:
            return by_function[function]
        if function in IN_BLOCKS and self.block_sizes:
            return [block * nprocs for block in self.block_sizes]
        if OTHERS in by_function:
            return by_function[OTHERS]
        usual = isinstance(sizes, dict) or sizes == SIZES
        if usual and function in IN_BLOCKS and nprocs > _RANKS:
            blocks = sorted({-(-size // _RANKS) for size in SIZES})
            most = max(most, SIZES[-1])
            return [block * nprocs for block in blocks if block * nprocs <= most]
        return sizes if isinstance(sizes, list) else SIZES

    def rounding(self, functions: Iterable[str], nprocs: int) -> str:
        """Return a sentence about the sizes that were asked for and are rounded up; or nothing."""
        named = [function for function in functions if self._is_named(function)]
        return rounding({name: self.volumes(name, nprocs, 0) for name in named}, self.data)

    def _is_named(self, function: str) -> bool:
        """Return whether sizes of the function were asked for."""
        if isinstance(self.sizes, dict):
            named = function in self.sizes or OTHERS in self.sizes
        else:
            named = self.sizes != SIZES
        return named or (function in IN_BLOCKS and bool(self.block_sizes))

    def problems(self, nprocs: int) -> Iterator[str]:
        for key, sizes in self._lists():
            few = len(set(sizes)) < 2 and self.profile is None
            if few or min(sizes, default=1) < 1:
                yield f"{key}: name two sizes or more, each of 1 byte or more"
        if self.type and self.type not in TYPE_BYTES:
            yield f"type must be one of {', '.join(TYPE_BYTES)}"
        if not 0 <= self.root < nprocs:
            yield "root must be a rank"


class Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The conditions under which a guideline is violated."""

    alpha: float = 0.05
    """The adjusted p-value of a violation is below this."""
    tolerance: float = 0.05
    """Slower by less than this share is no violation."""

    def problems(self) -> Iterator[str]:
        if not 0 < self.alpha < 1:
            yield "alpha must lie between 0 and 1"
        if not 0 <= self.tolerance < 1:
            yield "tolerance must lie between 0 and 1"
