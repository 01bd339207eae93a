"""Brunner-Munzel of launches that are not paired: is one side likelier to be slower, though their
spreads differ? Rank-sum takes a difference in spread for one in time; this test does not. Sources:
Brunner and Munzel, Biometrical Journal 42 (2000); Neubert and Brunner, Computational Statistics &
Data Analysis 51 (2007), for the permutation test."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from plumbline.verify.significance import distributions
from plumbline.verify.significance import distributions as null
from plumbline.verify.significance.comparison import (
    TIE_DIGITS,
    Alternative,
    Comparison,
    Test,
    Vector,
    both_logarithms,
    differences,
    middle_of,
    of_tails,
    ratio_of,
)
from plumbline.verify.significance.rank_sum import rank_sum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Below so many launches of a side the t distribution is too liberal: at 15 against 15 it finds
# twice as many false differences at 0.001, and five times as many at 0.0001.
SMALL = 30
EXACT_SPLITS = 50_000  # all splits are gone through: up to 9 against 9
DRAWN_SPLITS = 19_999  # else so many are drawn
SEED = 1
NO_INTERVAL = "the Brunner-Munzel test has no interval for the ratio"


def brunner_munzel(
    left: ArrayLike,
    right: ArrayLike,
    alternative: Alternative = "greater",
    confidence: float = 0.95,
) -> Comparison:
    """p: below 30 launches on a side the studentised permutation test, exact up to 9 against 9,
    beyond over 19 999 splits drawn with a fixed seed (so at least 1/20 000, and valid); from 30 on
    the t distribution with Satterthwaite's degrees of freedom.

    The statistic is undefined where no launch of one side lies among those of the other (its
    variance is zero) and for a single launch. There p is that of the exact rank-sum test, with
    which the permutation test agrees where the sides are apart; `reason` says so."""
    import numpy as np

    log_left, log_right = both_logarithms(left, right)
    m, n = len(log_left), len(log_right)
    both = np.round(np.concatenate([log_left, log_right]), TIE_DIGITS)
    ranks = tuple(null.doubled_midranks(both).tolist())
    is_left = np.zeros((1, m + n), dtype=bool)
    is_left[0, :m] = True
    reason = NO_INTERVAL
    estimate, spread_left, spread_right = _parts(np.array(ranks), is_left)
    if min(m, n) < 2 or spread_left[0] + spread_right[0] == 0:
        p = rank_sum(left, right, alternative, confidence).p
        reason += "; its statistic has no variance here, p is that of the exact rank-sum test"
    elif min(m, n) < SMALL:
        observed = float(_statistic(estimate, spread_left, spread_right)[0])
        p = of_tails(*_permuted(tuple(sorted(ranks)), m, observed), alternative)
    else:
        p = _t_distribution(estimate[0], spread_left[0], spread_right[0], m, n, alternative)
    ratio = ratio_of(middle_of(differences(log_left, log_right)))
    return Comparison(ratio, None, None, p, min(m, n), reason)


TEST = Test("brunner-munzel", False, brunner_munzel)


def _parts(ranks: NDArray[np.int64], is_left: NDArray[np.bool_]) -> tuple[Vector, Vector, Vector]:
    """Return, for each split (a row of `is_left`: which values are left ones), P(left > right) +
    P(equal)/2 less one half, and the parts of its variance that the left and the right side bring
    in."""
    import numpy as np

    left = is_left.astype(np.float64)
    right = 1.0 - left
    m, n = left[0].sum(), right[0].sum()
    beyond = (np.sign(np.subtract.outer(ranks, ranks)) + 1) / 2  # [i, j]: value i is larger than j
    places_left, places_right = right @ beyond.T / n, left @ beyond.T / m
    mean_left = (left * places_left).sum(axis=1) / m
    mean_right = (right * places_right).sum(axis=1) / n
    squares_left = (left * (places_left - mean_left[:, None]) ** 2).sum(axis=1)
    squares_right = (right * (places_right - mean_right[:, None]) ** 2).sum(axis=1)
    spread_left = squares_left / max(m - 1, 1) / m
    spread_right = squares_right / max(n - 1, 1) / n
    rounding = 1e-14
    spread_left[spread_left < rounding] = 0.0
    spread_right[spread_right < rounding] = 0.0
    return mean_left - 0.5, spread_left, spread_right


def _statistic(estimate: Vector, spread_left: Vector, spread_right: Vector) -> Vector:
    """Estimate over its standard error; without a variance infinite with its sign, or 0."""
    import numpy as np

    error = np.sqrt(spread_left + spread_right)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(estimate) < 1e-12, 0.0, estimate / error)


def _permuted(ranks: tuple[int, ...], m: int, observed: float) -> tuple[float, float]:
    """P(statistic ≥ observed) and P(≤) over the splits of the pooled ranks. The left side is taken
    for the smaller one, so that exchanging the sides exchanges the tails, drawn or not."""
    import numpy as np

    if 2 * m > len(ranks):
        at_most, at_least = _permuted(ranks, len(ranks) - m, -observed)
        return at_least, at_most
    statistics = _null(ranks, m)
    margin = 1e-9 * max(1.0, abs(observed))
    at_least = len(statistics) - int(np.searchsorted(statistics, observed - margin, side="left"))
    at_most = int(np.searchsorted(statistics, observed + margin, side="right"))
    total = len(statistics)
    if math.comb(len(ranks), m) > EXACT_SPLITS:  # to those that are drawn comes the observed one
        observed_values = [observed, -observed] if 2 * m == len(ranks) else [observed]
        at_least += sum(statistic >= observed - margin for statistic in observed_values)
        at_most += sum(statistic <= observed + margin for statistic in observed_values)
        total += len(observed_values)
    return at_least / total, at_most / total


@lru_cache(maxsize=64)
def _null(ranks: tuple[int, ...], m: int) -> Vector:
    """The statistic of all splits, or of those drawn, ascending. It depends on ranks alone, so that
    all comparisons without ties share it. Of equal sides every split is drawn with its mirror
    image, whose statistic has the other sign."""
    import numpy as np

    total = len(ranks)
    mirrored = 2 * m == total
    if math.comb(total, m) <= EXACT_SPLITS:
        chosen = np.array(list(combinations(range(total), m)))
    else:
        draws = DRAWN_SPLITS // 2 if mirrored else DRAWN_SPLITS
        order = np.random.default_rng(SEED).random((draws, total)).argsort(axis=1)
        chosen = order[:, :m]
    is_left = np.zeros((len(chosen), total), dtype=bool)
    np.put_along_axis(is_left, chosen, True, axis=1)
    statistics = _statistic(*_parts(np.array(ranks), is_left))
    if mirrored:  # all splits are their own mirror images, but for rounding
        statistics = np.concatenate([statistics, -statistics])
    statistics.sort()
    statistics.setflags(write=False)
    return statistics


def _t_distribution(
    estimate: float,
    spread_left: float,
    spread_right: float,
    m: int,
    n: int,
    alternative: Alternative,
) -> float:
    variance = spread_left + spread_right
    freedom = variance**2 / (spread_left**2 / (m - 1) + spread_right**2 / (n - 1))
    statistic = estimate / math.sqrt(variance)
    upper = distributions.student_above(freedom, statistic)
    return of_tails(upper, distributions.student_below(freedom, statistic), alternative)
