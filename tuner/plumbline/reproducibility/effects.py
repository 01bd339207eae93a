"""Decisions against the truth: how often a cell is found slower than itself, and how often a
slow-down is found that was planted; and the distance between the results of whole experiments.
Pure: log ratios of launches in, tables out.

Found is: significantly slower (one-sided signed-rank, Benjamini-Hochberg over everything, adjusted
p below alpha). The 5 % tolerance of violations is left out, as it asks how large an effect is, not
whether it is there. Beside the decision after all launches stands the one that verification makes:
looks while launches are added (verify/decision.py), each cell only until it is found."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbline.verify.decision import (
    Claim,
    Design,
    HypothesisFamily,
    alone,
    benjamini_hochberg,
    decide,
    design_over,
)
from plumbline.verify.significance import distributions

# The distance between the results of whole experiments. Pure: one value a trial in, numbers out.

PLAIN = ("each", "series", "skampi")
"""The plain schemes that ours is compared with: loops of the probe (`set plain=`), and SKaMPI's
rules for one launch of ours."""

# What SKaMPI 5 does unless its file says otherwise: repetitions in batches until the relative
# standard error is low enough.
SKAMPI_MOST = 33
SKAMPI_WARMUP = 4
_SKAMPI_BATCH = 8
_SKAMPI_ERROR = 0.1

_MIBIBYTES = 40
_MOST = 1000


class _TrialSpread(msgspec.Struct, frozen=True):
    """`seconds`: what each trial reports, in order. `percent`: the largest normalised run time,
    minus one (Hunold and Carpen-Amarie, TPDS 2016, figure 12; its Table 1 divides by the largest
    instead); `cv_percent`: standard deviation over mean."""

    seconds: list[float]
    percent: float
    cv_percent: float


class CellSpread(msgspec.Struct, frozen=True):
    """One cell. `ours`: median over a trial's launches of their medians; `ours_mean`: the mean of
    them, as the seed has it; `plain`: one launch, by scheme. `smaller`: ours spreads less than
    every plain scheme."""

    function: str
    nprocs: int
    bytes: int
    ours: _TrialSpread
    ours_mean: _TrialSpread
    plain: dict[str, _TrialSpread]
    smaller: bool


def normalised(values: ArrayLike) -> NDArray[np.float64]:
    """t_i / min_j t_j (TPDS 2016, section 5.3). Raises ValueError unless all are positive numbers.
    Shape (trials,)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0 or not (np.isfinite(array) & (array > 0)).all():
        raise ValueError("run times: one dimension of positive numbers is needed")
    return np.asarray(array / array.min(), dtype=np.float64)


def spread(seconds: Sequence[float]) -> _TrialSpread:
    """Raises ValueError for fewer than two trials."""
    if len(seconds) < 2:
        raise ValueError("a spread needs two trials")
    array = np.asarray(seconds, dtype=np.float64)
    percent = 100 * (float(normalised(array).max()) - 1)
    variation = 100 * float(array.std(ddof=1) / array.mean())
    return _TrialSpread([float(value) for value in array], percent, variation)


def spread_of_cell(
    function: str,
    nprocs: int,
    size: int,
    launches: Sequence[Sequence[float]],
    plain: Mapping[str, Sequence[float]],
) -> CellSpread:
    """`launches[i]`: medians of the launches of trial i; `plain[scheme][i]`: what the scheme
    reports beside it. Seconds."""
    own_spread = spread([float(np.median(trial)) for trial in launches])
    means = spread([float(np.mean(trial)) for trial in launches])
    plain_spreads = {name: spread(values) for name, values in plain.items()}
    smaller = all(own_spread.percent < spread.percent for spread in plain_spreads.values())
    return CellSpread(function, nprocs, size, own_spread, means, plain_spreads, smaller)


def skampi_result(seconds: ArrayLike) -> float:
    """Return what SKaMPI reports of a launch: it stops after the batch with which the relative
    standard error is 10 % at most, and averages the middle half (TPDS 2016, Table 4, PS1).
    `seconds`: the slowest rank's times in their order; 0 where there are fewer than two."""
    array = np.asarray(seconds, dtype=np.float64)
    ends = [*range(_SKAMPI_BATCH, len(array), _SKAMPI_BATCH), len(array)]
    for end in ends:
        taken = np.sort(array[:end])
        if len(taken) < 2:
            return 0.0
        error = float(taken.std(ddof=1)) / math.sqrt(len(taken))
        if end == len(array) or error <= _SKAMPI_ERROR * float(taken.mean()):
            break
    quarter = len(taken) // 4
    return float(taken[quarter : len(taken) - quarter].mean())


def plain_repetitions(size: int) -> int:
    """Return what the Intel MPI Benchmarks do by default: 1000, fewer where they would send more
    than 40 MiB in all. (The OSU benchmarks take 1000 up to 8 KiB and 100 beyond.)"""
    return max(1, min(_MOST, _MIBIBYTES * 2**20 // max(1, size)))


ALPHA = 0.05
TOLERANCE = 0.05
POWER = 0.9
# Lower bounds in seconds, upper classes first.
CLASSES = {"> 10 µs": 10e-6, "1-10 µs": 1e-6, "< 1 µs": 0.0}


class EffectComparison(msgspec.Struct, frozen=True):
    """A cell against itself, measured a second time (`effect` 0) or with `effect` per cent planted.
    `log_ratios`: one a launch; `seconds`: the cell's own time, median over the launches."""

    function: str
    nprocs: int
    bytes: int
    effect: float
    seconds: float
    log_ratios: list[float]


class EffectLine(msgspec.Struct, frozen=True):
    """One comparison: `effect` per cent planted (0: A/A), `seconds` of the undelayed cell. `ratio`
    is what the slow-down came out as, with its interval; `p` one-sided and raw, `p_adjusted` over
    the whole family."""

    function: str
    nprocs: int
    bytes: int
    effect: float
    seconds: float
    ratio: float
    ratio_low: float | None
    ratio_high: float | None
    p: float
    p_adjusted: float
    launches: int


class Judged(msgspec.Struct, frozen=True):
    """`looks_found`: also found by looks, after `looks_launches`; where it was not, that is all of
    them."""

    line: EffectLine
    looks_found: bool
    looks_launches: int


class FalseAlarms(msgspec.Struct, frozen=True):
    """A/A. `raw`: comparisons with p < alpha, of which `nominal` are expected at most; `low` and
    `high`: exact 95 % interval of the rate behind `raw` (Clopper and Pearson, Biometrika 26, 1934);
    `p_excess`: chance of as many or more at the nominal rate. All three take comparisons for
    independent, which those of one launch are not quite. `adjusted`: alarms after correction over
    the A/A comparisons alone, a table in which nothing is wrong; `violations`: those of them that
    also exceed the tolerance, which is what a violation table would show. `discoveries` and
    `false_discoveries`: found in the whole family, and how many of them are A/A; `looks_…`: the
    same with looks."""

    comparisons: int
    alpha: float
    raw: int
    share: float
    nominal: float
    low: float
    high: float
    p_excess: float
    adjusted: int
    violations: int
    discoveries: int
    false_discoveries: int
    looks_discoveries: int
    looks_false_discoveries: int


class Power(msgspec.Struct, frozen=True):
    """Cells of a class with one effect planted: how many, in how many it was found, and what the
    slow-down came out as (median over the cells, per cent). `looks_found`, `looks_launches`: with
    looks, in how many it was found, and after how many launches (mean over the cells)."""

    nprocs: int
    size_class: str
    effect: float
    cells: int
    found: int
    share: float
    realised: float
    looks_found: int
    looks_launches: float


class Smallest(msgspec.Struct, frozen=True):
    """The smallest planted effect that, like all larger ones, is found in at least `POWER` of the
    cells; None if there is none."""

    nprocs: int
    size_class: str
    effect: float | None


def judge(comparisons: Sequence[EffectComparison]) -> list[Judged]:
    """Judge them, in the same order. The comparisons are one family."""
    logs = {number: comparison.log_ratios for number, comparison in enumerate(comparisons)}
    decisions = decide(logs, Claim(alpha=ALPHA, judge=alone)).values()
    looks = with_looks(comparisons)
    lines = [
        EffectLine(
            function=of.function,
            nprocs=of.nprocs,
            bytes=of.bytes,
            effect=of.effect,
            seconds=of.seconds,
            ratio=test.ratio,
            ratio_low=test.low,
            ratio_high=test.high,
            p=test.p,
            p_adjusted=decision.p_adjusted or 0.0,
            launches=len(of.log_ratios),
        )
        for of, decision in zip(comparisons, decisions, strict=True)
        if (test := decision.comparison) is not None
    ]
    return [Judged(line, *look) for line, look in zip(lines, looks, strict=True)]


def design_of(launches: int) -> Design:
    """Looks from half of the launches on."""
    return design_over(max(1, (launches + 1) // 2), launches)


def with_looks(comparisons: Sequence[EffectComparison]) -> list[tuple[bool, int]]:
    """Return for each comparison whether looks find it, and how many launches that takes."""
    most = max((len(comparison.log_ratios) for comparison in comparisons), default=1)
    design = design_of(most)
    family = HypothesisFamily.of(range(len(comparisons)), Claim(alpha=ALPHA, design=design))
    for launches in design.launches:
        family.look(lambda number, first=launches: comparisons[number].log_ratios[:first])  # type: ignore[misc]
    outcomes = []
    for standing in family.decisions:
        won = standing.word == "slower"
        outcomes.append((won, design.launches[standing.look] if won else most))
    return outcomes


def false_alarms(judged: Iterable[Judged]) -> FalseAlarms:
    """Raises ValueError when there is no A/A comparison."""
    every = list(judged)
    same = [judged for judged in every if judged.line.effect == 0]
    if not same:
        raise ValueError("no cell was compared with itself")
    raw = sum(judged.line.p < ALPHA for judged in same)
    low, high = distributions.binomial_interval(raw, len(same), 0.95)
    by_themselves = benjamini_hochberg([judged.line.p for judged in same]).tolist()
    alarms = [judged for judged, p in zip(same, by_themselves, strict=True) if p < ALPHA]
    discoveries = [judged for judged in every if judged.line.p_adjusted < ALPHA]
    return FalseAlarms(
        comparisons=len(same),
        alpha=ALPHA,
        raw=raw,
        share=raw / len(same),
        nominal=ALPHA * len(same),
        low=low,
        high=high,
        p_excess=distributions.binomial_at_least(raw, len(same), ALPHA),
        adjusted=len(alarms),
        violations=sum(alarm.line.ratio > 1 + TOLERANCE for alarm in alarms),
        discoveries=len(discoveries),
        false_discoveries=sum(discovery.line.effect == 0 for discovery in discoveries),
        looks_discoveries=sum(judged.looks_found for judged in every),
        looks_false_discoveries=sum(judged.looks_found for judged in same),
    )


def size_class(seconds: float) -> str:
    return next(name for name, least in CLASSES.items() if seconds > least or least == 0)


def powers(judged: Iterable[Judged]) -> list[Power]:
    """Return the powers by number of ranks, class and effect; what was not measured has no line."""
    groups: dict[tuple[int, str, float], list[Judged]] = {}
    for effect in judged:
        planted = effect.line
        if planted.effect > 0:
            key = (planted.nprocs, size_class(planted.seconds), planted.effect)
            groups.setdefault(key, []).append(effect)
    order = list(CLASSES)
    result = []
    for key in sorted(groups, key=lambda key: (key[0], order.index(key[1]), key[2])):
        group = groups[key]
        slower_cells = sum(judged.line.p_adjusted < ALPHA for judged in group)
        realised = 100 * (median(judged.line.ratio for judged in group) - 1)
        result.append(
            Power(
                *key,
                cells=len(group),
                found=slower_cells,
                share=slower_cells / len(group),
                realised=realised,
                looks_found=sum(judged.looks_found for judged in group),
                looks_launches=sum(judged.looks_launches for judged in group) / len(group),
            )
        )
    return result


def smallest(table: Iterable[Power]) -> list[Smallest]:
    """One for each number of ranks and class of the table."""
    groups: dict[tuple[int, str], list[Power]] = {}
    for effect in table:
        groups.setdefault((effect.nprocs, effect.size_class), []).append(effect)
    result = []
    for (nprocs, name), group in groups.items():
        least: float | None = None
        for effect in sorted(group, key=lambda power: power.effect, reverse=True):
            if effect.share < POWER:
                break
            least = effect.effect
        result.append(Smallest(nprocs, name, least))
    return result


def delay_ns(median_ns: float, effect: float, ranks_per_core: int) -> int:
    """The wait of every rank that makes a call of `median_ns` `effect` per cent slower: where
    ranks share a core their waits follow each other. At least a nanosecond."""
    return max(1, math.floor(median_ns * effect / 100 / ranks_per_core + 0.5))
