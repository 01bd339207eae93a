"""Wilcoxon signed-rank, paired by launch: the default. Sources: Hollander, Wolfe, Chicken,
"Nonparametric Statistical Methods", 3rd ed., sections 3.1-3.3; Pratt, JASA 54 (1959), for zeros."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from plumbline.verify.significance import distributions as null
from plumbline.verify.significance.comparison import (
    TIE_DIGITS,
    Alternative,
    Comparison,
    Test,
    Vector,
    finite,
    interval,
    middle_of,
    normal_order,
    normal_tail,
    of_tails,
    paired_logarithms,
    ratio_of,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def paired_ratio(
    log_ratios: ArrayLike, confidence: float = 0.95, alternative: Alternative = "greater"
) -> Comparison:
    """Compares per-launch log ratios, log(left) - log(right), with zero.

    Ratio: Hodges-Lehmann (median of the Walsh averages). Interval: order statistics of the Walsh
    averages. p: Wilcoxon signed-rank. All assume that log ratios are symmetric about their centre,
    and nothing else. Ties get mid-ranks; zeros are ranked, then left out (Pratt). The distribution
    is conditional on both, counted exactly up to 50 launches, normal with continuity correction
    beyond. (scipy.stats.wilcoxon drops zeros before ranking, and with ties or zeros among more than
    13 launches takes the normal approximation.)"""
    values = finite(log_ratios, "log ratios")
    n = len(values)
    walsh = _walsh_averages(values)
    low, high, reason = interval(walsh, _order(n, (1 - confidence) / 2), n, confidence)
    p = _p(values, alternative)
    return Comparison(ratio_of(middle_of(walsh)), low, high, p, n, reason)


def paired_shift(differences: ArrayLike, confidence: float = 0.95) -> tuple[float, float, float]:
    """The Hodges-Lehmann centre of per-launch differences, in their unit, and its interval as in
    `paired_ratio`; where launches are too few for one, it is as wide as they lie apart."""
    values = finite(differences, "differences")
    walsh = _walsh_averages(values)
    order = max(1, _order(len(values), (1 - confidence) / 2))
    return middle_of(walsh), float(walsh[order - 1]), float(walsh[-order])


def signed_rank(
    left: ArrayLike,
    right: ArrayLike,
    alternative: Alternative = "greater",
    confidence: float = 0.95,
) -> Comparison:
    """`paired_ratio` of times: left[i] and right[i] come from the same launch."""
    return paired_ratio(paired_logarithms(left, right), confidence, alternative)


TEST = Test("signed-rank", True, signed_rank)


def _p(values: Vector, alternative: Alternative) -> float:
    if alternative == "greater":
        return _upper_tail(values)
    if alternative == "less":
        return _upper_tail(-values)
    return of_tails(_upper_tail(values), _upper_tail(-values), alternative)


def _upper_tail(values: Vector) -> float:
    import numpy as np

    rounded = np.round(values, TIE_DIGITS)
    doubled = null.doubled_midranks(np.abs(rounded))
    ranks = doubled[rounded != 0]
    observed = int(doubled[rounded > 0].sum())
    if len(ranks) <= null.SIGNED_RANK_LIMIT:
        return null.upper_tail(tuple(sorted(ranks.tolist())), observed)
    squares = float((ranks.astype(np.float64) ** 2).sum())
    return normal_tail(observed / 2 - 0.5, float(ranks.sum()) / 4, squares / 16)


def _order(n: int, tail: float) -> int:
    if n <= null.SIGNED_RANK_LIMIT:
        return null.signed_rank_order(n, tail)
    return normal_order(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, tail)


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places (i, j) with i ≤ j."""
    import numpy as np

    return np.triu_indices(n)


def _walsh_averages(values: Vector) -> Vector:
    import numpy as np

    rows, columns = _pairs(len(values))
    return np.sort((values[rows] + values[columns]) / 2)
