"""The way from trials to winners: which candidate is kept for which range of sizes.

Pure. A candidate is eligible when it is significantly faster than the default. Where the
library's own choice must be one for all sizes (Gather, Scatter, Scan …), it is the algorithm with
the best weighted benefit that is slower at no size, or none; our variants may be chosen size by
size everywhere. Of candidates that are equally good those with the fewest rules are taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.verify.decision import by_interval
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Trial, Winner

from .candidates import DEFAULT, Candidate

if TYPE_CHECKING:
    from .candidates import CandidateSpace

# The range of a choice around a measured size; sizes in between are not measured.
REACH = 2

# The weight of each cell by function and size; a missing cell has weight 1.
Weights = Mapping[tuple[str, int], float]

Trials = Mapping[Target, Sequence[Trial]]

# The choices that cost time at other sizes too. The preload library intercepts every call, so no
# variant is chosen if knobs are as good everywhere. If the preload library is needed, and a knob
# makes the library's other calls slower, a knob must be this many times as fast as a variant.
Dear = Literal["knobs", "variants"]
_WORTH_A_KNOB = 1.1


def tie(best: Trial) -> float:
    """A candidate that takes no more than so many times as long as the best may be as good: what
    launches leave open, but 3 % at most, and 1 % for a rule less where they repeat each other."""
    if best.ratio_low is None or best.ratio_high is None:
        return 1.03
    return min(1.03, max(1.01, best.ratio_high / best.ratio_low))


class Chosen(msgspec.Struct, frozen=True):
    """The choice that is kept for one function: `base`, an algorithm of the library for all sizes,
    and what is better still at single sizes. `sizes` are all that are known, in order; `measured`
    those of the table."""

    function: str
    measured: list[int]
    sizes: list[int]
    base: Winner | None
    by_size: dict[int, Trial]

    def answer(self, size: int) -> Candidate:
        """Return what a call of this size gets."""
        return candidate_of(self.by_size[size]) if size in self.by_size else self.everywhere()

    def everywhere(self) -> Candidate:
        """Return what all sizes get that have no choice of their own."""
        if self.base is None:
            return DEFAULT
        return Candidate(configuration=Configuration.of(self.base.configuration))


class Selection(msgspec.Struct, frozen=True):
    """The facts that choices depend on besides trials. `sizes` are the measured sizes of each
    function, in order."""

    candidate_space: CandidateSpace
    sizes: Mapping[str, Sequence[int]]
    nprocs: int
    ppn: int
    tolerance: float
    weights: Weights | None = None

    def choose(
        self,
        trials: Trials,
        opened_by: Mapping[Target, Sequence[str]],
        between: Trials | None = None,
    ) -> list[Chosen]:
        """The choices over all functions. `opened_by` names the violations of each target; targets
        without one are there because their function must be judged as a whole. `between`: what was
        tried between measured sizes, to see where one choice ends and another begins
        (crossover.py)."""
        functions = sorted({target.function for target in trials})
        bases: dict[str, Winner | None] = dict.fromkeys(functions)
        for function in filter(self.candidate_space.one_for_all_sizes, functions):
            rows = {trial.bytes: trials[trial] for trial in trials if trial.function == function}
            wanted_sizes = {cell.bytes for cell in opened_by if cell.function == function}
            bases[function] = self._one_for_all(
                function, rows, wanted_sizes, self._share(function, rows)
            )
        tried = {
            cell: measured
            for cell, measured in {**trials, **(between or {})}.items()
            if cell.function in bases and (cell in opened_by or cell in (between or {}))
        }
        options = self._options(tried, bases)
        dear: Dear = "variants"
        if self.candidate_space.knobs_slow_others and _need_preload(options):
            dear = "knobs"
            bases = {name: base and self._worth_a_knob(base, tried) for name, base in bases.items()}
            options = self._options(tried, bases, spare_knobs=True)
        choices = []
        for function in functions:
            by_size = {
                cell.bytes: equal for cell, equal in options.items() if cell.function == function
            }
            added = {cell.bytes for cell in between or {} if cell.function == function}
            known_sizes = sorted({*self.sizes[function], *added})
            chosen = fewest_rules(by_size, known_sizes, self._share(function, known_sizes), dear)
            sizes = list(self.sizes[function])
            choices.append(Chosen(function, sizes, known_sizes, bases[function], chosen))
        return choices

    def _options(
        self, tried: Trials, bases: Mapping[str, Winner | None], *, spare_knobs: bool = False
    ) -> dict[Target, list[Trial]]:
        options_by_cell = {
            cell: _options(
                self.candidate_space,
                cell.function,
                measured,
                bases[cell.function],
                spare_knobs=spare_knobs,
            )
            for cell, measured in tried.items()
        }
        return {
            cell: cell_options for cell, cell_options in options_by_cell.items() if cell_options
        }

    def _worth_a_knob(self, base: Winner, tried: Trials) -> Winner | None:
        """Return the option for all sizes, unless variants of ours are about as fast wherever it
        helps a cell that is wanted."""
        for cell, trials in tried.items():
            quicker = [trial for trial in trials if faster(trial)]
            variant_ratios = [
                _ratio(trial) for trial in quicker if trial.variant != DEFAULT.variant
            ]
            base_ratios = [_ratio(trial) for trial in quicker if trial.knobs == base.configuration]
            if (
                cell.function == base.function
                and base_ratios
                and _WORTH_A_KNOB * base_ratios[0] < min(variant_ratios, default=math.inf)
            ):
                return base
        return None

    def _share(self, function: str, sizes: Iterable[int]) -> dict[int, float]:
        return {size: (self.weights or {}).get((function, size), 1.0) for size in sizes}

    def winners(
        self,
        trials: Trials,
        opened_by: Mapping[Target, Sequence[str]],
        between: Trials | None = None,
    ) -> list[Winner]:
        """The choices as ranges of sizes, with the violations that they are to remove."""
        winners: list[Winner] = []
        for taken in self.choose(trials, opened_by, between):
            sizes_wanted = {
                target.bytes for target in opened_by if target.function == taken.function
            }
            # If each measured size has its own choice, no cell would confirm the base.
            if taken.base is not None and not taken.by_size.keys() >= set(taken.measured):
                rest = [
                    name
                    for size in sorted(sizes_wanted - taken.by_size.keys())
                    for name in opened_by[Target(taken.function, size)]
                ]
                base = msgspec.structs.replace(taken.base, removes=sorted(set(rest)))
                decided = [
                    trial
                    for size in taken.measured
                    if size not in taken.by_size
                    for trial in trials.get(Target(taken.function, size), ())
                    if candidate_of(trial) == taken.everywhere()
                ]
                winners.append(_with_gain(base, decided) if decided else base)
            for first, last in _ranges(taken.by_size, taken.sizes):
                inside = [size for size in taken.measured if first <= size <= last]
                if not inside:
                    continue  # no cell of the table would confirm it
                low, high = _bounds(taken.sizes, first, last)
                removes = {
                    name
                    for size in inside
                    for name in opened_by.get(Target(taken.function, size), ())
                }
                inner = [taken.by_size[size] for size in inside]
                winners.append(self._winner(taken.function, inner, low, high, sorted(removes)))
        return winners

    def _one_for_all(
        self,
        function: str,
        by_size: Mapping[int, Sequence[Trial]],
        sizes_wanted: set[int],
        share: Mapping[int, float],
    ) -> Winner | None:
        """The library's algorithm that saves the most time, weighted over all sizes, helps a wanted
        one, and is slower at none; of equals the first in the candidate space."""
        order = {
            candidate: number
            for number, candidate in enumerate(self.candidate_space.first(function))
        }
        candidates = {
            candidate_of(trial)
            for trials in by_size.values()
            for trial in trials
            if trial.variant == "default" and trial.state == "measured"
        }
        best: tuple[float, list[Trial]] | None = None
        for candidate in sorted(
            candidates, key=lambda candidate: (order.get(candidate, len(order)), candidate)
        ):
            at = {
                size: trial
                for size, trials in by_size.items()
                for trial in trials
                if trial.state == "measured" and candidate_of(trial) == candidate
            }
            if at.keys() != by_size.keys():
                continue
            if any(slower(trial, self.tolerance) for trial in at.values()):
                continue
            helped = [size for size in sizes_wanted if faster(at[size])]
            gain = benefit({size: _ratio(trial) for size, trial in at.items()}, share)
            if helped and gain > 0 and (best is None or gain > best[0]):
                best = (gain, list(at.values()))
        if best is None:
            return None
        # The gain covers all sizes, although sizes with their own choice do not use it in the end.
        return self._winner(function, best[1], 0, UNBOUNDED_BYTES, [])

    def _winner(
        self, function: str, trials: Sequence[Trial], low: int, high: int, removes: list[str]
    ) -> Winner:
        """`trials` are those of one candidate, in each measured cell that it is to decide."""
        trial = trials[0]
        candidate = candidate_of(trial)
        winner = Winner(
            function=function,
            nprocs=self.nprocs,
            ppn=self.ppn,
            bytes_from=low,
            bytes_to=high,
            variant=trial.variant,
            configuration=dict(trial.knobs),
            search_speedup=1.0,
            speedup=1.0,
            speedup_low=1.0,
            speedup_high=1.0,
            removes=removes,
            restrictions=self.candidate_space.restrictions(function, candidate),
        )
        return _with_gain(winner, trials)


def benefit(ratios: Mapping[int, float], share: Mapping[int, float]) -> float:
    """Time saved: of each cell the part of its time, times what the cell counts for."""
    return sum(share.get(size, 1.0) * (1 - ratio) for size, ratio in ratios.items())


def by_benefit(
    winners: Iterable[Winner], sizes: Mapping[str, Sequence[int]], weights: Weights
) -> list[Winner]:
    """The winners, those that save the most time first."""

    def saved(winner: Winner) -> float:
        every = sizes if winner.function == EVERY_FUNCTION else {winner.function}
        inside = [
            (function, size)
            for function in every
            for size in sizes.get(function, ())
            if winner.bytes_from <= size <= winner.bytes_to
        ]
        return sum(weights.get(cell, 1.0) for cell in inside) * (1 - 1 / winner.speedup)

    return sorted(winners, key=saved, reverse=True)


def candidate_of(trial: Trial) -> Candidate:
    return Candidate(trial.variant, Configuration.of(trial.knobs))


def _need_preload(options: Mapping[Target, Sequence[Trial]]) -> bool:
    """Return whether a variant of ours is wanted somewhere where no knob does as well."""
    return any(
        all(trial.variant != DEFAULT.variant for trial in cell_options)
        for cell_options in options.values()
    )


def _options(
    candidate_space: CandidateSpace,
    function: str,
    trials: Sequence[Trial],
    base: Winner | None,
    *,
    spare_knobs: bool = False,
) -> list[Trial]:
    """The fastest eligible trial of one cell, and those that are as good. With a `base` (an
    algorithm of the library that holds for all sizes) only our variants can still be chosen, and
    must beat it. `spare_knobs`: variants alone, unless the best knob is much faster."""
    eligible = [trial for trial in trials if faster(trial)]
    if candidate_space.one_for_all_sizes(function):
        eligible = [trial for trial in eligible if trial.variant != "default"]
        if base is not None:
            under_base = next(
                (trial.ratio for trial in trials if trial.knobs == base.configuration), None
            )
            eligible = [
                trial for trial in eligible if _ratio(trial) * tie(trial) < (under_base or 1.0)
            ]
    ranked = sorted(eligible, key=lambda trial: (_ratio(trial), candidate_of(trial)))
    variants = [trial for trial in ranked if trial.variant != DEFAULT.variant]
    if spare_knobs and variants and _ratio(variants[0]) <= _WORTH_A_KNOB * _ratio(ranked[0]):
        ranked = variants
    return [trial for trial in ranked if _as_good(trial, ranked[0])]


def _as_good(trial: Trial, best: Trial) -> bool:
    """Hardly slower than the best, and perhaps not slower; or a knob, which needs no preload
    library, in place of a variant."""
    if _ratio(trial) > _ratio(best) * tie(best):
        return False
    overlap = (trial.ratio_low or _ratio(trial)) <= (best.ratio_high or _ratio(best))
    return overlap or (trial.variant == DEFAULT.variant != best.variant)


_END = -1

# The cost of a path through the sizes: changes of the choice, expensive choices, log ratios.
_Cost = tuple[int, int, float]


def fewest_rules(
    options: Mapping[int, Sequence[Trial]],
    sizes: Sequence[int],
    share: Mapping[int, float],
    dear: Dear = "variants",
) -> dict[int, Trial]:
    """One option for each size: over sizes that follow each other as few changes as there can be,
    then as few choices that are `dear`, then the least weighted time."""
    chosen: dict[int, Trial] = {}
    run: list[int] = []
    for size in [*sizes, _END]:
        if size in options:
            run.append(size)
            continue
        # The best path to each option of the last size.
        ways: list[tuple[_Cost, list[Trial]]] = [((0, 0, 0.0), [])]
        for at in run:
            ways = [
                min(
                    (_further(*way, trial, share[at], dear) for way in ways), key=lambda way: way[0]
                )
                for trial in options[at]
            ]
        chosen |= zip(run, min(ways, key=lambda way: way[0])[1], strict=True)
        run = []
    return chosen


def _further(
    cost: _Cost, way: list[Trial], trial: Trial, weight: float, dear: Dear
) -> tuple[_Cost, list[Trial]]:
    changes, dear_ones, logs = cost
    changes += bool(way) and not _same(way[-1], trial)
    dear_ones += (trial.variant == DEFAULT.variant) == (dear == "knobs")
    return (changes, dear_ones, logs + weight * math.log(_ratio(trial))), [*way, trial]


def _with_gain(winner: Winner, trials: Sequence[Trial]) -> Winner:
    """Return the winner with the speed-up of the search: the geometric mean over these cells, of
    the ends of the intervals as well (where a cell has none, its ratio)."""
    speedup = _mean_gain(map(_ratio, trials))
    return msgspec.structs.replace(
        winner,
        search_speedup=speedup,
        speedup=speedup,
        speedup_low=_mean_gain(trial.ratio_high or _ratio(trial) for trial in trials),
        speedup_high=_mean_gain(trial.ratio_low or _ratio(trial) for trial in trials),
    )


def _mean_gain(ratios: Iterable[float]) -> float:
    return 1 / geometric_mean(ratios)


def _ranges(chosen: Mapping[int, Trial], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring sizes with the same choice, as (first, last)."""
    ranges: list[tuple[int, int]] = []
    previous: int | None = None
    for size in sizes:
        trial = chosen.get(size)
        if trial is not None:
            near = previous is not None and size <= previous * REACH**2
            joins = near and ranges and ranges[-1][1] == previous
            if joins and _same(chosen[ranges[-1][1]], trial):
                ranges[-1] = (ranges[-1][0], size)
            else:
                ranges.append((size, size))
        previous = size
    return ranges


def _bounds(sizes: Sequence[int], first: int, last: int) -> tuple[int, int]:
    """The range a choice measured at `first` … `last` stands for: to the geometric middle between
    neighbouring measured sizes, at most a factor REACH away, and not past the smallest and the
    largest."""
    position, end = sizes.index(first), sizes.index(last)
    low = math.isqrt(sizes[position - 1] * first) + 1 if position else first
    high = math.isqrt(last * sizes[end + 1]) if end + 1 < len(sizes) else last
    return max(low, first // REACH), min(high, last * REACH)


def _same(first: Trial, second: Trial) -> bool:
    return (first.variant, first.knobs) == (second.variant, second.knobs)


def _ratio(trial: Trial) -> float:
    return trial.ratio if trial.ratio is not None else math.inf


def _interval(trial: Trial) -> Comparison | None:
    low, high = trial.ratio_low, trial.ratio_high
    ratio, launches = trial.ratio, trial.launches
    return None if ratio is None else Comparison(ratio, low, high, 1.0, launches, trial.detail)


def faster(trial: Trial) -> bool:
    return trial.state == "measured" and by_interval(_interval(trial)) == "faster"


def slower(trial: Trial, tolerance: float) -> bool:
    """Slower than the default beyond doubt, or by more than the tolerance as far as known."""
    return by_interval(_interval(trial)) == "slower" or _ratio(trial) > 1 + tolerance
