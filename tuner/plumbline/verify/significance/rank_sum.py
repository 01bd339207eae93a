"""Wilcoxon rank-sum (Mann-Whitney) of launches that are not paired: the test of Hunold et al.,
Euro-Par 2016 (section 4.3), and of Hunold and Carpen-Amarie, TPDS 2016 (section 5.2). Source:
Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd ed., sections 4.1-4.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plumbline.verify.significance import distributions as null
from plumbline.verify.significance.comparison import (
    TIE_DIGITS,
    Alternative,
    Comparison,
    Test,
    Vector,
    both_logarithms,
    differences,
    interval,
    middle_of,
    normal_order,
    normal_tail,
    of_tails,
    ratio_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def rank_sum(
    left: ArrayLike,
    right: ArrayLike,
    alternative: Alternative = "greater",
    confidence: float = 0.95,
) -> Comparison:
    """Exact, conditional on ties, up to 60 launches in all; normal with correction for ties and
    continuity beyond. Ratio and interval from the ordered differences of the logarithms, which
    assumes that one side is the other one times a factor."""
    log_left, log_right = both_logarithms(left, right)
    m, n = len(log_left), len(log_right)
    ordered = differences(log_left, log_right)
    order = _order(m, n, (1 - confidence) / 2)
    low, high, reason = interval(ordered, order, min(m, n), confidence)
    at_least, at_most = _upper_tail(log_left, log_right), _upper_tail(log_right, log_left)
    p = of_tails(at_least, at_most, alternative)
    return Comparison(ratio_of(middle_of(ordered)), low, high, p, min(m, n), reason)


TEST = Test("rank-sum", False, rank_sum)


def _upper_tail(left: Vector, right: Vector) -> float:
    import numpy as np

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
    return normal_tail(observed / 2 - 0.5, m * (total + 1) / 2, variance)


def _order(m: int, n: int, tail: float) -> int:
    if m + n <= null.RANK_SUM_LIMIT:
        return null.rank_sum_order(m, n, tail)
    return normal_order(m * n / 2, m * n * (m + n + 1) / 12, tail)
