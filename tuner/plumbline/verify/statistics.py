"""Is the left side slower than the right one, by how much, and how sure is that?

Pure: arrays in, `Comparison` out; no clock, file or database. One value a launch, because the
launch is the replicate. A value that is not a finite number raises ValueError: it never counts as
"not slower". Sources: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd ed.,
sections 3.1-3.3 (signed rank) and 4.1-4.3 (rank sum); Pratt, JASA 54 (1959), for zeros; Benjamini
and Hochberg, JRSS B 57 (1995); Benjamini and Bogomolov, JRSS B 76 (2014), for tests inside selected
families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from plumbline.verify import null_distributions as null

# Log ratios come from integer nanoseconds: what differs by less is rounding, and ties.
TIE_DIGITS = 12

Vector = NDArray[np.float64]


class Comparison(msgspec.Struct, frozen=True):
    """`ratio` is left over right; `low` and `high` its two-sided confidence interval (None where no
    interval with that confidence exists or the test has none; `reason` says which); `p` is
    one-sided, H1: the left side is slower. `n` counts launches, of the smaller side if unpaired."""

    ratio: float
    low: float | None
    high: float | None
    p: float
    n: int
    reason: str


def paired_ratio(log_ratios: ArrayLike, confidence: float = 0.95) -> Comparison:
    """Compares per-launch log ratios, log(left) - log(right), with zero.

    Ratio: Hodges-Lehmann (median of the Walsh averages). Interval: order statistics of the Walsh
    averages. p: Wilcoxon signed-rank. All assume that log ratios are symmetric about their centre,
    and nothing else. Ties get mid-ranks; zeros are ranked, then left out (Pratt). The distribution
    is conditional on both, counted exactly up to 50 launches, normal with continuity correction
    beyond. (scipy.stats.wilcoxon drops zeros before ranking, and with ties or zeros among more than
    13 launches takes the normal approximation.)"""
    values = _finite(log_ratios, "log ratios")
    n = len(values)
    walsh = _walsh_averages(values)
    order = _signed_rank_order(n, (1 - confidence) / 2)
    low, high, reason = _interval(walsh, order, n, confidence)
    return Comparison(_ratio(float(np.median(walsh))), low, high, _signed_rank_p(values), n, reason)


def rank_sum(left: ArrayLike, right: ArrayLike, confidence: float = 0.95) -> Comparison:
    """Compares the times of two sets of launches that are not paired (seed 000, section 4.3).

    Wilcoxon rank-sum, exact also with ties up to 60 launches in all, normal beyond; ratio and
    interval from the ordered differences of the logarithms."""
    log_left, log_right = _logarithms(left, "left"), _logarithms(right, "right")
    m, n = len(log_left), len(log_right)
    differences = np.sort(np.subtract.outer(log_left, log_right), axis=None)
    order = _rank_sum_order(m, n, (1 - confidence) / 2)
    low, high, reason = _interval(differences, order, min(m, n), confidence)
    ratio = _ratio(float(np.median(differences)))
    return Comparison(ratio, low, high, _rank_sum_p(log_left, log_right), min(m, n), reason)


def kolmogorov_smirnov(left: ArrayLike, right: ArrayLike) -> Comparison:
    """Unpaired, one-sided: some share of the left times lies beyond the right ones (seed 000,
    section 4.3). Exact; with ties conservative. Sees any slower tail, so it has no interval."""
    from scipy import stats

    log_left, log_right = _logarithms(left, "left"), _logarithms(right, "right")
    result = stats.ks_2samp(log_left, log_right, alternative="less", method="auto")
    ratio = _ratio(float(np.median(np.subtract.outer(log_left, log_right))))
    n = min(len(log_left), len(log_right))
    reason = "the Kolmogorov-Smirnov test has no interval for the ratio"
    return Comparison(ratio, None, None, float(result.pvalue), n, reason)


def benjamini_hochberg(p: ArrayLike) -> Vector:
    """Adjusted p-values: rejecting those below α keeps the false discovery rate at α."""
    return adjusted_within(p, p)


def adjusted_within(p: ArrayLike, family: ArrayLike) -> Vector:
    """The least α at which each p, a test inside a member of the family, is rejected.

    Benjamini-Hochberg selects R of the m members at α; a test inside a selected one is rejected at
    α R/m (Benjamini and Bogomolov). So the value is the minimum over k of m max(p, p_(k)) / k,
    which for the members' own p is the Benjamini-Hochberg adjustment."""
    members = np.sort(_probabilities(family))
    tests = _probabilities(p)
    m = len(members)
    if m == 0:
        return np.zeros(0)
    at_least = np.maximum.outer(tests, members) * (m / np.arange(1, m + 1))
    return np.asarray(np.minimum(at_least.min(axis=1), 1.0), dtype=np.float64)


def launches_needed(
    tests: int, *, alpha: float = 0.05, rejected: int = 1, factor: float = 1
) -> int:
    """Least number of launches whose smallest possible signed-rank p, 2^-n, is rejected when
    `rejected` of `tests` are; `factor` is what else multiplies p (looks, candidates)."""
    return max(1, math.floor(math.log2(tests * factor / (alpha * rejected))) + 1)


def _signed_rank_p(values: Vector) -> float:
    rounded = np.round(values, TIE_DIGITS)
    doubled = null.doubled_midranks(np.abs(rounded))
    ranks = doubled[rounded != 0]
    observed = int(doubled[rounded > 0].sum())
    if len(ranks) <= null.SIGNED_RANK_LIMIT:
        return null.upper_tail(tuple(sorted(ranks.tolist())), observed)
    squares = float((ranks.astype(np.float64) ** 2).sum())
    return _normal_tail(observed / 2 - 0.5, float(ranks.sum()) / 4, squares / 16)


def _rank_sum_p(left: Vector, right: Vector) -> float:
    both = np.round(np.concatenate([left, right]), TIE_DIGITS)
    doubled = null.doubled_midranks(both)
    m, total = len(left), len(both)
    observed = int(doubled[:m].sum())
    if total <= null.RANK_SUM_LIMIT:
        counts = null.rank_sum_counts(tuple(sorted(doubled.tolist())), m)
        return int(counts[observed:].sum()) / int(counts.sum())
    ranks = doubled / 2
    spread = float(((ranks - ranks.mean()) ** 2).sum())
    variance = m * (total - m) * spread / (total * (total - 1))
    return _normal_tail(observed / 2 - 0.5, m * (total + 1) / 2, variance)


def _normal_tail(observed: float, mean: float, variance: float) -> float:
    if variance == 0:
        return 1.0
    return 0.5 * math.erfc((observed - mean) / math.sqrt(2 * variance))


def _signed_rank_order(n: int, tail: float) -> int:
    if n <= null.SIGNED_RANK_LIMIT:
        return null.signed_rank_order(n, tail)
    return _normal_order(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, tail)


def _rank_sum_order(m: int, n: int, tail: float) -> int:
    if m + n <= null.RANK_SUM_LIMIT:
        return null.rank_sum_order(m, n, tail)
    return _normal_order(m * n / 2, m * n * (m + n + 1) / 12, tail)


def _normal_order(mean: float, variance: float, tail: float) -> int:
    from statistics import NormalDist

    return max(0, math.floor(mean + NormalDist().inv_cdf(tail) * math.sqrt(variance) + 0.5))


def _interval(
    ordered: Vector, order: int, n: int, confidence: float
) -> tuple[float | None, float | None, str]:
    if order == 0:
        return None, None, f"{n} launches are too few for a {100 * confidence:g} % interval"
    return _ratio(float(ordered[order - 1])), _ratio(float(ordered[-order])), ""


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places (i, j) with i ≤ j."""
    return np.triu_indices(n)


def _walsh_averages(values: Vector) -> Vector:
    rows, columns = _pairs(len(values))
    return np.sort((values[rows] + values[columns]) / 2)


def _ratio(log_ratio: float) -> float:
    return math.exp(min(log_ratio, 700.0))


def _finite(values: ArrayLike, what: str) -> Vector:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{what}: one dimension and at least one value are needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: a value is not a finite number")
    return array


def _logarithms(seconds: ArrayLike, what: str) -> Vector:
    array = _finite(seconds, what)
    if not (array > 0).all():
        raise ValueError(f"{what}: a time is not positive")
    return np.log(array)


def _probabilities(p: ArrayLike | Sequence[float]) -> Vector:
    array = np.asarray(p, dtype=np.float64)
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError("p-values must lie between 0 and 1")
    return array
