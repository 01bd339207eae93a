"""Settings that say which calls are measured and with how many samples, what is compared, and when
a guideline is violated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from plumbline.core.application import Application
from plumbline.core.guidelines import EVERY, Guidelines
from plumbline.core.plan import (
    COUNT_SHAPES,
    EQUAL_COUNTS,
    IN_BLOCKS,
    TYPE_BYTES,
    Data,
    StoppingRule,
    rounding,
)
from plumbline.core.unmeasured import Unmeasured
from plumbline.system.words import MOST
from plumbline_db.old_samples import Policy

_LAUNCHES_MAX = 30
# With so many launches a signed-rank test can show a large difference in one of about 20 cells.
_FEW_CELLS = 9

# A simulated machine repeats itself in every launch, and nearly in every repetition. Its launches
# take as long as the simulator needs, not the simulated time.
SIMULATED: dict[str, float] = {"launches": 1, "launches_max": 1, "blocks": 1, "reps": 1}
SIMULATED |= {"precision": 0.0}
SIMULATED |= {"launch_timeout_seconds": 3600.0}


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The amount that is measured; a simulated machine, which repeats itself, does it once."""

    launches: int = 6
    """Launches (or pairs of launches) before the first decision; only undecided cells get more."""
    launches_max: int = 0
    """The most launches of undecided cells; default: 30, or twice `launches`."""
    blocks: int = 12
    """Passes over all cases in a launch, each in its own random order."""
    reps: int = 4
    """Samples of a case in a block."""
    precision: float = 0.0125
    """A case is complete in a launch once the standard error of its median is below this; 0:
    never."""
    nrep: str = ""
    """Stopping rule that first counts the samples of each case (docs/measurement.md), in place of
    `reps` and `precision`."""
    nrep_min: int = 20
    """Samples before the rule is looked at first."""
    nrep_step: int = 10
    """Samples between two looks at the rule."""
    nrep_max: int = 1000
    """The most samples under the rule."""
    seed: int = 1
    """Seed of orders and data."""
    launch_timeout_seconds: Unmeasured[float] = 120.0
    """Seconds after which a launch is ended; default for a simulated machine: an hour."""

    def canonical(self) -> Sampling:
        most = self.launches_max or max(_LAUNCHES_MAX, 2 * self.launches)
        return msgspec.structs.replace(self, launches_max=most)

    @property
    def rule(self) -> StoppingRule | None:
        """Return the stopping rule; None: samples are not counted first."""
        if not self.nrep:
            return None
        return StoppingRule(self.nrep, self.nrep_min, self.nrep_step, self.nrep_max)

    @property
    def of_few_cells(self) -> int:
        """The launches, or pairs of them, that judge cells too few to tell of each other."""
        return self.launches if self.launches_max == 1 else max(self.launches, _FEW_CELLS)

    def problems(self, *, simulated: bool) -> Iterator[str]:
        if not simulated and self.launches < 6:
            yield "launches must be at least 6 (fewer cannot show anything)"
        if simulated and {self.launches, self.launches_max} != {1}:
            yield "launches and launches_max must be 1, for a simulated machine repeats itself"
        if 0 != self.launches_max < self.launches:
            yield "launches_max must be at least launches; leave it out for 30, or twice them"
        if max(self.launches, self.launches_max, self.blocks, self.reps) > MOST:
            yield f"launches, launches_max, blocks and reps must be at most {MOST}"
        if min(self.blocks, self.reps) < 1:
            yield "blocks and reps must be at least 1"
        bounds = (self.nrep_min, self.nrep_step, self.nrep_max)
        if not self.nrep and bounds != (20, 10, 1000):
            yield "nrep_min, nrep_step and nrep_max are of a stopping rule: name it by nrep"
        if min(bounds) < 1 or max(bounds) > MOST or self.nrep_max < self.nrep_min:
            yield f"nrep_min, nrep_step, nrep_max must be 1 to {MOST}, the first at most the last"
        if not 0 <= self.precision < 1:
            yield "precision must be at least 0 and below 1 (0.01: one per cent)"
        if not 0 < self.launch_timeout_seconds < math.inf:
            yield "launch_timeout_seconds must be a number of seconds, and positive"
        if self.seed < 0:
            yield "seed must not be negative"


class Keeping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whose samples stay when the campaign has ended ([database](database.md)); not given: all."""

    keep_days: Unmeasured[float | None] = None
    """Samples of campaigns that ended fewer days ago are kept; older ones become medians and
    quantiles."""
    keep_last: Unmeasured[int | None] = None
    """Samples of so many last campaigns of each machine, library and layout are kept."""

    @property
    def policy(self) -> Policy:
        """Return the policy: with both keys, samples stay that either of them keeps."""
        return Policy(self.keep_days, self.keep_last)

    def problems(self) -> Iterator[str]:
        if self.keep_days is not None and not 0 <= self.keep_days < math.inf:
            yield "keep_days must be a number of days, not negative"
        if self.keep_last is not None and self.keep_last < 1:
            yield "keep_last must be at least 1"


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


# The message sizes of Hunold et al., Euro-Par 2016, Table 4, 1 B to 100 KiB.
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
    counts: str = ""
    """Count shape of functions with counts: equal, linear, last, half (docs/uses.md); default:
    equal."""
    guidelines: list[str] = []
    """Ids of guidelines to verify, or `all`; -GL1 leaves GL1 out; default: the usual set."""
    guidelines_file: Guidelines | None = None
    """A file of your own guidelines, in place of Plumbline's (docs/verification.md)."""
    functions: list[str] = []
    """Functions that are verified too, for monotony and split-robustness; MPI_Ibcast and
    the like also against the blocking one."""
    profile: Application | None = None
    """An application's calls, as `plumbline profile` wrote them (docs/application.md)."""

    @property
    def data(self) -> Data:
        """Return what is sent, as a plan has it."""
        return Data(self.type, self.op, self.root, self.counts or EQUAL_COUNTS)

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
            counts="" if self.counts == EQUAL_COUNTS else self.counts,
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
            none = not sizes and self.profile is None
            if none or min(sizes, default=1) < 1:
                yield f"{key}: name a size or more, each of 1 byte or more"
        if self.type and self.type not in TYPE_BYTES:
            yield f"type must be one of {', '.join(TYPE_BYTES)}"
        if self.counts not in ("", *COUNT_SHAPES):
            yield f"counts must be one of {', '.join(COUNT_SHAPES)}"
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
