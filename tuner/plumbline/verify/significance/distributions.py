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
