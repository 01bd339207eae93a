"""The knowledge of a race of its candidates, and how far one is behind another.

Inside a launch two cases are paired block by block: the log ratio of a launch is the median over
its blocks. Launches differ by more than their blocks say, so that the error of a mean has both: the
spread of the blocks, and the spread between launches, which is known from the table before the
first launch of a race and from the launches of the cell later. What is claimed in the end rests on
the launches alone. Pure: no clock, file or database."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec
import numpy as np

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline_db.records import Medians
from plumbline_db.runs import LaunchSamples

Key = tuple[Target, Candidate]
Blocks = tuple[float, ...]

# The assumed spread of a log ratio between launches if nothing is known: an upper value from
# measurements on a quiet machine.
SPREAD = 0.05
# The same for launches beside other work: two busy loops on two cores.
DISTURBED = 0.15
# From this log ratio on, the default of a launch differs from the table's. On virtual machines two
# processors share a cache in some launches and not in others: a candidate may be 1.5 times as fast
# as the default in one state, and 1.5 times as slow in the other.
_ODD = 0.1
# The weight of the assumed spread, as a number of launches of a cell.
_WEIGHT = 4
# A cold candidate is compared across launches.
COLD = 2.0
# A case that is sure ends after at least so many blocks (probes/nrep/block_medians.c).
_LEAST_BLOCKS = 3
_MAD = 1.4826  # from a median absolute deviation to a standard deviation, of normal values
_MEDIAN = math.pi / 2  # variance of a median over that of a mean


class Lead(msgspec.Struct, frozen=True):
    """The time that one candidate takes longer than another: a logarithm, its standard error, and
    the launches that have both."""

    log: float
    error: float
    launches: int

    def surely_above(self, limit: float, deviations: float) -> bool:
        return self.log - deviations * self.error > limit

    def expected_gain(self) -> float:
        """Return what changing to this candidate is expected to gain over staying, if the truth
        turns out to be better: the mean of the negative part of a normal distribution."""
        if self.error == 0:
            return max(0.0, -self.log)
        z = self.log / self.error
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return self.error * (density - z * 0.5 * math.erfc(z / math.sqrt(2)))

    def gains(self, least: float) -> float:
        """The probability that it is faster by more than `least`, a logarithm."""
        if self.error == 0:
            return float(-self.log > least)
        return 0.5 * math.erfc((self.log + least) / (self.error * math.sqrt(2)))


def together(leads: Iterable[Lead]) -> Lead | None:
    """Over several cells: the sum. None where there is none."""
    every_lead = list(leads)
    if not every_lead:
        return None
    return Lead(
        sum(lead.log for lead in every_lead),
        math.sqrt(sum(lead.error**2 for lead in every_lead)),
        min(lead.launches for lead in every_lead),
    )


_STEPS = 50


def expected_gain(leads: Collection[Lead]) -> float:
    """Return what the best of several is expected to gain: the integral over t of the probability
    that one of them gains more than t, which is no more than the sum of theirs."""
    most = max((5 * lead.error - lead.log for lead in leads), default=0.0)
    if most <= 0:
        return 0.0
    steps = [most * (number + 0.5) / _STEPS for number in range(_STEPS)]
    chances = [min(1.0, sum(lead.gains(step) for lead in leads)) for step in steps]
    return most / _STEPS * sum(chances)


class Evidence:
    """Times of cases by launch. `exact`: launches repeat each other, and have no error. `spread`:
    of log ratios between launches, as known before; `usual`: logarithms of what the default took
    before, in seconds."""

    def __init__(
        self,
        *,
        exact: bool,
        spread: float = SPREAD,
        usual: Mapping[Target, float] | None = None,
    ) -> None:
        self.exact = exact
        self.spread = spread
        self._usual = usual or {}
        # The logarithms of the medians of a launch's blocks, in seconds.
        self._blocks: dict[Key, dict[int, Blocks]] = {}
        # log(candidate / default) of cold candidates, by the launch of the default.
        self._cold: dict[Key, dict[int, float]] = {}
        self._there: dict[Target, dict[Candidate, None]] = {}
        self._between: dict[Target, float] = {}
        self._leads: dict[tuple[Key, Key], Lead | None] = {}  # that were asked for since the last
        self._disturbed: set[int] = set()  # launches

    def add(
        self, found: Iterable[LaunchSamples], blocks: int, reps: int = 1, *, disturbed: bool = False
    ) -> None:
        """Samples of launches that took so many blocks at most, with at least so many samples in a
        block; `disturbed`: beside other work."""
        for samples in found:
            case = samples.case
            if case.config == "plain" or case.variant == "library" or case.ranks:
                continue
            target = Target(case.function, case.bytes)
            candidate = Candidate(case.variant, Configuration.of(case.knobs))
            self._there.setdefault(target, {})[candidate] = None
            times = self._blocks.setdefault((target, candidate), {})
            for run, ns in zip(samples.runs, samples.ns, strict=True):
                count = min(blocks, -(-len(ns) // reps))
                parts = np.array_split(np.log(np.maximum(ns, 1) * 1e-9), count)
                times[run] = tuple(statistics.median(part.tolist()) for part in parts)
            self._forget()
            self._disturbed |= set(samples.runs) if disturbed else set()

    def add_cold(self, target: Target, candidate: Candidate, run: int, log: float) -> None:
        self._there.setdefault(target, {})[candidate] = None
        self._cold.setdefault((target, candidate), {})[run] = log
        self._forget()

    def forget_cold(self, functions: Collection[str]) -> None:
        """Forget what cold launches say of these functions."""
        for target, candidate in [key for key in self._cold if key[0].function in functions]:
            del self._cold[target, candidate]
        self._forget()

    def _forget(self) -> None:
        """Drop what was computed before there was more."""
        self._between.clear()
        self._leads.clear()

    def only(self, keep: Callable[[Target, Candidate], bool]) -> Evidence:
        """Return what shared launches say of these, and of nothing else."""
        kept_evidence = Evidence(exact=self.exact, spread=self.spread)
        for (target, candidate), times in self._blocks.items():
            if keep(target, candidate):
                kept_evidence._there.setdefault(target, {})[candidate] = None
                kept_evidence._blocks[target, candidate] = dict(times)
        return kept_evidence

    def launches(self, target: Target, candidate: Candidate) -> int:
        """Return how often it was measured beside the default."""
        return len(self.logs(target, candidate))

    def knows(self, target: Target, candidate: Candidate) -> bool:
        return (target, candidate) in self._blocks or (target, candidate) in self._cold

    def seconds(
        self, target: Target, candidate: Candidate = DEFAULT, launch: int | None = None
    ) -> float | None:
        """Return the seconds in a launch, or the median over all, of what was not measured cold."""
        times = self._blocks.get((target, candidate), {})
        if launch is not None:
            times = {launch: times[launch]} if launch in times else {}
        if not times:
            return None
        return math.exp(statistics.median(statistics.median(time) for time in times.values()))

    def targets(self, function: str) -> list[Target]:
        """The cells of a function that something is known of."""
        return [target for target in self._there if target.function == function]

    def candidates(self, target: Target) -> list[Candidate]:
        """Return the candidates that can be compared with the default there, sorted."""
        present = self._there.get(target, {})
        return sorted(
            candidate
            for candidate in present
            if candidate != DEFAULT and self.logs(target, candidate)
        )

    def logs(
        self, target: Target, candidate: Candidate, rival: Key | None = None
    ) -> dict[int, float]:
        """Return log(candidate / rival) of each launch that has both; the default rival is the
        default of the cell."""
        rival = rival or (target, DEFAULT)
        own_blocks, rival_blocks = (
            self._blocks.get((target, candidate), {}),
            self._blocks.get(rival, {}),
        )
        if self.exact and own_blocks and rival_blocks:
            return _first_of(own_blocks, rival_blocks)
        if own_blocks and rival_blocks:
            return {
                run: _difference(own_blocks[run], rival_blocks[run])
                for run in own_blocks
                if run in rival_blocks
            }
        return self._over_default(target, candidate, rival)

    def lead(self, target: Target, candidate: Candidate, other: Candidate = DEFAULT) -> Lead | None:
        """None where no launch has both."""
        return self.behind(target, candidate, (target, other))

    def behind(self, target: Target, candidate: Candidate, other: Key) -> Lead | None:
        """The same against another cell's candidate."""
        asked = (target, candidate), other
        if asked not in self._leads:
            self._leads[asked] = self._behind(target, candidate, other)
        return self._leads[asked]

    def _behind(self, target: Target, candidate: Candidate, rival: Key) -> Lead | None:
        logs = self.logs(target, candidate, rival)
        if not logs:
            return None
        values = sorted(logs.values())
        middle = statistics.median((a + b) / 2 for a in values for b in values)
        if self.exact:
            return Lead(middle, 0.0, len(values))
        inside = self._inside(target, candidate, rival, logs)
        cold = COLD if self._is_cold(target, candidate, rival) else 1.0
        quiet = self._spread_of(target)
        spreads = [max(quiet, self._oddity(target, run)) for run in logs]
        between = sum((cold * spread) ** 2 for spread in spreads) / len(values)
        return Lead(middle, math.sqrt((between + inside**2) / len(values)), len(values))

    def _oddity(self, target: Target, run: int) -> float:
        """Return the spread that a launch is given for being beside other work, or for another
        default than usual in this cell: twice the difference."""
        default = self._blocks.get((target, DEFAULT), {}).get(run)
        apart = 0.0
        if default is not None and target in self._usual:
            apart = abs(statistics.median(default) - self._usual[target])
        return max(DISTURBED if run in self._disturbed else 0.0, 2 * apart if apart > _ODD else 0.0)

    def _over_default(self, target: Target, candidate: Candidate, rival: Key) -> dict[int, float]:
        """Return the lead by way of the default, as one side is cold."""
        own_logs = self._against(target, candidate)
        rival_logs = self._against(*rival)
        shift = 0.0
        if rival[0] != target:
            own_seconds, rival_seconds = self.seconds(target), self.seconds(rival[0])
            if own_seconds is None or rival_seconds is None:
                return {}
            shift = math.log(own_seconds / rival_seconds)
        if rival[1] == DEFAULT:
            return {run: log + shift for run, log in own_logs.items()}
        if self.exact and own_logs and rival_logs:
            ((run, log), *_) = own_logs.items()
            return {run: log - next(iter(rival_logs.values())) + shift}
        return {
            run: log - rival_logs[run] + shift for run, log in own_logs.items() if run in rival_logs
        }

    def _against(self, target: Target, candidate: Candidate) -> dict[int, float]:
        if (target, candidate) in self._cold:
            return self._cold[target, candidate]
        own_blocks = self._blocks.get((target, candidate), {})
        default = self._blocks.get((target, DEFAULT), {})
        if self.exact and own_blocks and default:
            return _first_of(own_blocks, default)
        return {
            run: _difference(own_blocks[run], default[run]) for run in own_blocks if run in default
        }

    def _is_cold(self, target: Target, candidate: Candidate, rival: Key) -> bool:
        return (target, candidate) in self._cold or rival in self._cold

    def _inside(
        self, target: Target, candidate: Candidate, rival: Key, logs: Mapping[int, float]
    ) -> float:
        """Return what the blocks of one launch leave uncertain of its log ratio."""
        own_blocks, rival_blocks = (
            self._blocks.get((target, candidate), {}),
            self._blocks.get(rival, {}),
        )
        rest: list[float] = []
        blocks = 0
        for run, log in logs.items():
            pairs = list(zip(own_blocks.get(run, ()), rival_blocks.get(run, ()), strict=False))
            if len(pairs) > 1:
                rest += [abs(a - b - log) for a, b in pairs]
                blocks += len(pairs)
        if not blocks:
            return 0.0
        per_launch = blocks / len(logs)
        return _MAD * statistics.median(rest) * math.sqrt(_MEDIAN / per_launch)

    def _spread_of(self, target: Target) -> float:
        """Between launches, in one cell: what was known before, and what its launches show."""
        if target not in self._between:
            squares, freedom, most = 0.0, 0, 0
            for candidate in self.candidates(target):
                logs = list(self.logs(target, candidate).values())
                if len(logs) > 1:
                    squares += (len(logs) - 1) * statistics.variance(logs)
                    freedom += len(logs) - 1
                    most = max(most, len(logs) - 1)
            variance = squares / freedom if freedom else 0.0
            # Candidates share the default of their launches, so all together count as two.
            total = _WEIGHT * self.spread**2 + 2 * most * variance
            self._between[target] = math.sqrt(total / (_WEIGHT + 2 * most))
        return self._between[target]


def _first_of(
    own_blocks: Mapping[int, Blocks], rival_blocks: Mapping[int, Blocks]
) -> dict[int, float]:
    """Launches of a machine that repeats itself are one launch."""
    ((run, own_first), *_), (rival_first, *_) = own_blocks.items(), rival_blocks.values()
    return {run: _difference(own_first, rival_first)}


def _difference(own_blocks: Blocks, rival_blocks: Blocks) -> float:
    """Paired by block, as far as both go on; where blocks are missing, median by median."""
    fewer = min(len(own_blocks), len(rival_blocks))
    if len(own_blocks) == len(rival_blocks) or fewer >= _LEAST_BLOCKS:
        return statistics.median([a - b for a, b in zip(own_blocks, rival_blocks, strict=False)])
    return statistics.median(own_blocks) - statistics.median(rival_blocks)


def usual_of(medians: Iterable[Medians]) -> dict[Target, float]:
    """Return the logarithm of what the library's own call took in a table, in seconds, by cell."""
    return {
        Target(median.case.function, median.case.bytes): math.log(statistics.median(median.seconds))
        for median in medians
        if median.case.variant == "default"
        and not (median.case.knobs or median.case.ranks or median.case.config != "default")
        and min(median.seconds, default=0.0) > 0
    }


def spread_of(medians: Iterable[Medians]) -> float:
    """Return how far log ratios of cases of the same function and size lie apart between launches:
    the third quartile over the pairs of a table with a default in them. SPREAD where it has
    none."""
    cells: dict[Target, list[Medians]] = {}
    for median in medians:
        if not (median.case.knobs or median.case.ranks or median.case.config != "default"):
            cells.setdefault(Target(median.case.function, median.case.bytes), []).append(median)
    deviations = []
    for cell in cells.values():
        default = next((medians for medians in cell if medians.case.variant == "default"), None)
        for value in cell:
            if default is None or value is default:
                continue
            own_times = dict(zip(value.runs, value.seconds, strict=True))
            default_times = dict(zip(default.runs, default.seconds, strict=True))
            logs = [
                math.log(own_times[run] / default_times[run])
                for run in own_times
                if run in default_times
            ]
            if len(logs) > 2:
                middle = statistics.median(logs)
                deviations.append(_MAD * statistics.median(abs(log - middle) for log in logs))
    if not deviations:
        return SPREAD
    return float(np.quantile(deviations, 0.75))
