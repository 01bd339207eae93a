"""The medians of one campaign, indexed by what was measured: function, variant, bytes.

Only the library as it is installed (config `default`, no knobs) is the subject of guidelines;
candidates of a search are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline.core.cell import Side
from plumbline.core.configuration import variant_name
from plumbline.core.guidelines import LIBRARY
from plumbline_db.errors import UsageError
from plumbline_db.records import Case, Medians

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    from plumbline_db.runs import LaunchSamples

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


# Estimators from the samples of a launch to one log ratio: how much slower is one case than another
# there? Pure. Both estimators are antisymmetric, so that for equal cases their results are
# symmetric about zero, which is what the signed-rank test asks for.

_Estimator = Callable[["ArrayLike", "ArrayLike"], float]

_MANY = 128


def medians(left: ArrayLike, right: ArrayLike) -> float:
    """Log of the ratio of the medians (Hunold et al., Euro-Par 2016, section 4.3)."""
    import numpy as np

    return float(np.log(_median(_times(left))) - np.log(_median(_times(right))))


def pairs(left: ArrayLike, right: ArrayLike) -> float:
    """The median over all pairs of samples of their log ratio: the Hodges-Lehmann estimate of a
    shift between two samples (Hollander, Wolfe, Chicken, 3rd ed., section 4.2), on the logarithms.
    Where the times of a cell have two heaps, a median jumps between them; this does not. What
    verification uses. Many samples are represented by _MANY of their quantiles."""
    return _shift(_few_logs(left), _few_logs(right))


def _shift(left_logs: NDArray[np.float64], right_logs: NDArray[np.float64]) -> float:
    import numpy as np

    return _median(np.subtract.outer(left_logs, right_logs).ravel())


def _median(values: NDArray[np.float64]) -> float:
    """Return what numpy.median says of one dimension without NaN, in a quarter of its time where
    values are few."""
    import numpy as np

    middle, odd = divmod(len(values), 2)
    if odd:
        return float(np.partition(values, middle)[middle])
    parted = np.partition(values, (middle - 1, middle))
    return float(np.mean(parted[middle - 1 : middle + 1]))


def _few_logs(values: ArrayLike) -> NDArray[np.float64]:
    import numpy as np

    times = _times(values)
    if len(times) > _MANY:
        times = np.quantile(times, (np.arange(_MANY) + 0.5) / _MANY)
    return np.log(times)


def _times(values: ArrayLike) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(values, dtype=np.float64)


ESTIMATORS: dict[str, _Estimator] = {"medians": medians, "pairs": pairs}


def side_of(case: Case) -> Side:
    return Side(case.function, case.variant, case.bytes, case.ranks)


class Obstacle(msgspec.Struct, frozen=True):
    """The reason why a planned side has no times: `wrong: differs in 3 of 16 elements`,
    `unsupported: …`."""

    side: Side
    reason: str


class Index:
    """Times by side and launch. `seconds[side]` maps a launch number to the median of that launch;
    `obstacles[side]` says why a planned side was not timed. Where a launch gave the `samples` of
    both sides, they are compared sample by sample, else median by median. `nprocs` are the ranks of
    a launch (0: not known), `types` the datatype of each function. `known`: log ratios of two sides
    in a launch that an index of the same campaign has computed; it adds its own."""

    def __init__(
        self,
        medians: Iterable[Medians],
        obstacles: Sequence[Obstacle] = (),
        samples: Iterable[LaunchSamples] = (),
        nprocs: int = 0,
        known: dict[tuple[Side, Side, int], float] | None = None,
    ) -> None:
        self.nprocs = nprocs
        self._known = {} if known is None else known
        self.types: dict[str, str] = {}
        self.seconds: dict[Side, dict[int, float]] = {}
        self._ns: dict[Side, dict[int, NDArray[np.int64]]] = {}
        self._logs: dict[tuple[Side, int], NDArray[np.float64]] = {}
        self.obstacles = {obstacle.side: obstacle.reason for obstacle in obstacles}
        contexts: dict[str, tuple[str, str, int, str]] = {}
        for entry in medians:
            case = entry.case
            if case.config != LIBRARY or case.knobs:
                continue
            context = (case.type, case.op, case.root, case.counts)
            if contexts.setdefault(case.function, context) != context:
                raise UsageError(
                    f"{case.function} was measured with (type, op, root, counts) "
                    f"{contexts[case.function]} and {context}: verify one of them at a time"
                )
            self.types[case.function] = case.type
            self._add(side_of(case), entry)
        for sample in samples:
            case = sample.case
            if case.config == LIBRARY and not case.knobs:
                self._ns.setdefault(side_of(case), {}).update(
                    zip(sample.runs, sample.ns, strict=True)
                )

    def _add(self, side: Side, entry: Medians) -> None:
        if len(entry.runs) != len(entry.seconds):
            raise ValueError(f"{side}: {len(entry.runs)} launches, {len(entry.seconds)} medians")
        launches = self.seconds.setdefault(side, {})
        for run, seconds in zip(entry.runs, entry.seconds, strict=True):
            if run in launches:
                raise ValueError(f"{side}: launch {run} is there twice")
            launches[run] = seconds

    def functions(self) -> list[str]:
        """Functions whose own call was planned, sorted."""
        return sorted({side.function for side in self._planned() if _is_call(side)})

    def sizes(self, function: str, variant: str = LIBRARY) -> list[int]:
        """Sizes at which it was planned (timed, or kept from that by an obstacle), ascending."""
        return sorted(
            {
                side.bytes
                for side in self._planned()
                if (side.function, side.variant, side.ranks) == (function, variant, 0)
            }
        )

    def variants(self, function: str, size: int) -> list[str]:
        """Return what was planned at a size on all ranks, sorted."""
        return sorted(
            {
                side.variant
                for side in self._planned()
                if (side.function, side.bytes, side.ranks) == (function, size, 0)
            }
        )

    def of_variant(self, name: str) -> list[Side]:
        """Sides whose variant this is, with whatever parameters; by function, size, parameters."""
        sides_of_variant = {side for side in self._planned() if variant_name(side.variant) == name}
        return sorted(sides_of_variant, key=lambda side: (side.function, side.bytes, side.variant))

    def fewer_ranks(self) -> list[int]:
        """Numbers of ranks, below that of the launch, that the library's call ran on."""
        return sorted({side.ranks for side in self._planned() if side.ranks})

    def planned(self, side: Side) -> bool:
        return side in self.seconds or side in self.obstacles

    def timed(self, side: Side) -> bool:
        return bool(self.seconds.get(side))

    def missing(self, side: Side) -> str:
        """Return why a side has no times; empty when it has some."""
        if side in self.obstacles:
            return self.obstacles[side]
        return "" if self.timed(side) else "not measured"

    def log_ratios(self, left: Side, right: Side, factor: int) -> tuple[list[float], int]:
        """Per launch that has both sides, log(left) - log(factor · right), in order of launches;
        and the number of launches left out because a time is not a positive number."""
        lefts, rights = self.seconds.get(left, {}), self.seconds.get(right, {})
        ratios, unusable = [], 0
        for run in sorted(lefts.keys() & rights.keys()):
            a, b = lefts[run], rights[run]
            if 0 < a < math.inf and 0 < b < math.inf:
                if (left, right, run) not in self._known:
                    self._known[left, right, run] = self._log_ratio(left, right, run)
                ratios.append(self._known[left, right, run] - math.log(factor))
            else:
                unusable += 1
        return ratios, unusable

    def _log_ratio(self, left: Side, right: Side, run: int) -> float:
        left_logs, right_logs = self._logs_of(left, run), self._logs_of(right, run)
        if left_logs is None or right_logs is None:
            return math.log(self.seconds[left][run]) - math.log(self.seconds[right][run])
        return _shift(left_logs, right_logs)

    def _logs_of(self, side: Side, run: int) -> NDArray[np.float64] | None:
        """A sample below the timer's unit counts as one nanosecond."""
        import numpy as np

        ns = self._ns.get(side, {}).get(run)
        if ns is not None and (side, run) not in self._logs:
            self._logs[side, run] = _few_logs(np.maximum(ns, 1))
        return self._logs.get((side, run))

    def _planned(self) -> Iterable[Side]:
        return (*self.seconds, *self.obstacles)


def _is_call(side: Side) -> bool:
    return side.variant == LIBRARY and side.ranks == 0
