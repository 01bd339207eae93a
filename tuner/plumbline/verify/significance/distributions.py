"""Student's t, the beta and the binomial distribution, and derivatives of log Γ, as far as
statistics here ask for them.

By the continued fraction of the incomplete beta function (W. H. Press et al., "Numerical Recipes",
3rd ed., section 6.4), in double precision; the tests hold them to SciPy's, to 10 digits and more.
SciPy itself would be most of what an installation weighs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Exact null distributions of the rank statistics, as counts of equally likely outcomes.
# Ranks are doubled, so that mid-ranks of ties are integers. Counting is by dynamic programming,
# exact in 64-bit integers within the limits below; results are cached, because hundreds of cells
# share the ranks 1..n. Source: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd
# ed., sections 3.1 and 4.1.

SIGNED_RANK_LIMIT = 50  # 2^50 outcomes fit into 64 bits
RANK_SUM_LIMIT = 60  # so do the C(60, 30) subsets

_Counts: TypeAlias = "NDArray[np.int64]"


@lru_cache(maxsize=4096)
def signed_rank_counts(doubled_ranks: tuple[int, ...]) -> _Counts:
    """counts[s]: sign patterns in which the doubled ranks with a plus sign add up to s.

    Cost: n vector additions over n(n + 1) sums. At most SIGNED_RANK_LIMIT ranks."""
    import numpy as np

    if len(doubled_ranks) > SIGNED_RANK_LIMIT:
        raise ValueError(f"{len(doubled_ranks)} ranks are too many to count")
    counts = np.zeros(sum(doubled_ranks) + 1, dtype=np.int64)
    counts[0] = 1
    for rank in doubled_ranks:
        shifted = counts[:-rank].copy()
        counts[rank:] += shifted
    counts.setflags(write=False)
    return counts


@lru_cache(maxsize=256)
def rank_sum_counts(doubled_ranks: tuple[int, ...], size: int) -> _Counts:
    """counts[s]: subsets of `size` of the doubled ranks that add up to s."""
    import numpy as np

    if len(doubled_ranks) > RANK_SUM_LIMIT:
        raise ValueError(f"{len(doubled_ranks)} ranks are too many to count")
    counts = np.zeros((size + 1, sum(doubled_ranks) + 1), dtype=np.int64)
    counts[0, 0] = 1
    for rank in doubled_ranks:
        shifted = counts[:-1, :-rank].copy()
        counts[1:, rank:] += shifted
    result: _Counts = counts[size].copy()
    result.setflags(write=False)
    return result


@lru_cache(maxsize=4096)
def upper_tail(doubled_ranks: tuple[int, ...], doubled_sum: int) -> float:
    """P(sum of the ranks with a plus sign ≥ observed), conditional on the ranks."""
    counts = signed_rank_counts(doubled_ranks)
    return float(counts[doubled_sum:].sum()) / float(2 ** len(doubled_ranks))


@lru_cache(maxsize=256)
def signed_rank_order(n: int, tail: float) -> int:
    """Largest k with P(T ≤ k - 1) ≤ tail for the signed-rank statistic T of n untied values:
    the k-th smallest Walsh average bounds the location with that error. 0: there is none."""
    counts = signed_rank_counts(tuple(range(2, 2 * n + 1, 2)))[::2]
    return _order(counts, tail)


@lru_cache(maxsize=256)
def rank_sum_order(left: int, right: int, tail: float) -> int:
    """The same for the Mann-Whitney statistic U and the ordered differences of two samples."""
    ranks = tuple(range(2, 2 * (left + right) + 1, 2))
    counts = rank_sum_counts(ranks, left)[left * (left + 1) :: 2]
    return _order(counts, tail)


def _order(counts: _Counts, tail: float) -> int:
    import numpy as np

    below = np.cumsum(counts) / counts.sum()
    return int(np.searchsorted(below, tail, side="right"))


def doubled_midranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value, ties sharing the mean of their ranks."""
    import numpy as np

    order = values.argsort()
    ordered = values[order]
    if (ordered[1:] != ordered[:-1]).all():
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[order] = np.arange(2, 2 * len(values) + 1, 2)
        return ranks
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    doubled = 2 * (np.cumsum(counts) - counts) + counts + 1
    return np.asarray(doubled[inverse], dtype=np.int64)


_TINY = 1e-300
_CLOSE = 3e-16
_MOST_TERMS = 10_000
_FAR = 1e100
_ASYMPTOTIC = 10.0  # from here on a few terms of a series give 12 digits


def beta_below(a: float, b: float, x: float) -> float:
    """P(X ≤ x) of the beta distribution with `a`, `b` > 0: the regularised incomplete beta function
    I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(b, a, 1 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction, by Lentz's method."""
    upper, lower = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    result = lower
    for term in range(1, _MOST_TERMS):
        even = term * (b - term) * x / ((a + 2 * term - 1) * (a + 2 * term))
        odd = -(a + term) * (a + b + term) * x / ((a + 2 * term) * (a + 2 * term + 1))
        for numerator in (even, odd):
            lower = 1 / _off_zero(1 + numerator * lower)
            upper = _off_zero(1 + numerator / upper)
            result *= lower * upper
        if abs(lower * upper - 1) <= _CLOSE:
            break
    return result


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


@lru_cache(4096)
def beta_quantile(a: float, b: float, share: float) -> float:
    """The x with P(X ≤ x) = `share`."""
    return _root(lambda x: beta_below(a, b, x) - share, 0.0, 1.0)


def student_below(freedom: float, t: float) -> float:
    """P(T ≤ t) of Student's t with `freedom` > 0 degrees of freedom."""
    outside = _outside(freedom, t) / 2
    return outside if t < 0 else 1 - outside


def student_above(freedom: float, t: float) -> float:
    """P(T > t): to all digits where it is small."""
    return student_below(freedom, -t)


def _outside(freedom: float, t: float) -> float:
    """P(|T| > |t|)."""
    if math.isinf(t):
        return 0.0
    square = t * t
    if square < freedom:
        return 1 - beta_below(0.5, freedom / 2, square / (freedom + square))
    return beta_below(freedom / 2, 0.5, freedom / (freedom + square))


@lru_cache(4096)
def student_quantile(freedom: float, share: float) -> float:
    """The t with P(T ≤ t) = `share`, which lies between 0 and 1."""
    if share < 0.5:
        return -student_quantile(freedom, 1 - share)
    if share == 0.5:
        return 0.0
    most = 1.0
    while student_above(freedom, most) > 1 - share:
        most *= 2
    return _root(lambda t: (1 - share) - student_above(freedom, t), 0.0, most)


def student4_below(t: ArrayLike) -> NDArray[np.float64]:
    """`student_below` with four degrees of freedom, whose distribution has a closed form."""
    import numpy as np

    near: NDArray[np.float64] = np.clip(np.asarray(t, dtype=np.float64), -_FAR, _FAR)
    scale = 1 + near * near / 4
    below: NDArray[np.float64] = near / np.sqrt(scale) * (1 - near * near / scale / 12)
    return 0.5 + 0.375 * below


def binomial_at_most(count: int, trials: int, share: float) -> float:
    """P(X ≤ count) of `trials` trials that succeed with `share` each."""
    if count < 0:
        return 0.0
    return 1.0 if count >= trials else beta_below(trials - count, count + 1, 1 - share)


def binomial_at_least(count: int, trials: int, share: float) -> float:
    if count <= 0:
        return 1.0
    return 0.0 if count > trials else beta_below(count, trials - count + 1, share)


def binomial_interval(count: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the interval of the share, after `count` successes: the exact one (Clopper, Pearson,
    Biometrika 1934)."""
    outside = (1 - confidence) / 2
    low = beta_quantile(count, trials - count + 1, outside) if count else 0.0
    high = beta_quantile(count + 1, trials - count, 1 - outside) if count < trials else 1.0
    return low, high


@lru_cache(256)
def digamma(x: float) -> float:
    """The derivative of log Γ at `x` > 0: recurrence, then the asymptotic series (Abramowitz and
    Stegun, "Handbook of Mathematical Functions", 6.3.5 and 6.3.18)."""
    below = 0.0
    while x < _ASYMPTOTIC:
        below += 1 / x
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return math.log(x) - 1 / (2 * x) - series - below


@lru_cache(256)
def trigamma(x: float) -> float:
    """The second derivative of log Γ at `x` > 0 (ibid., 6.4.6 and 6.4.12)."""
    below = 0.0
    while x < _ASYMPTOTIC:
        below += 1 / (x * x)
        x += 1
    square = 1 / (x * x)
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return below + 1 / x + square / 2 + series / x


def trigamma_inverse(y: float) -> float:
    """The x with trigamma(x) = `y` > 0."""
    low, high = 1e-3 / (1 + y), 1 + 2 / y  # trigamma falls, and lies above 1/x and 1/x²
    return _root(lambda x: y - trigamma(x), low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a rising function, by halving until no number lies between."""
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if function(middle) < 0:
            low = middle
        else:
            high = middle
