"""The answer of a test, and what the tests share: reading their input, tails, intervals.

Pure: arrays in, `Comparison` out; no clock, file or database. One value a launch, because the
launch is the replicate. A value that is not a finite number raises ValueError: it never counts as
"not slower"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# Log ratios of launches on a machine that repeats itself: nothing to test, only to compare.
# Pure: arrays in, `Comparison` out. What is left between two launches is the rounding of times to
# nanoseconds and the order of cases, `SAME` of a logarithm.

# Logarithms of ratios count as equal below this difference: a nanosecond in ten microseconds.
SAME = 1e-4


def exact_ratio(log_ratios: ArrayLike, confidence: float = 0.95) -> Comparison:
    """Return what `paired_ratio` does, from one launch on. `low` and `high` are the least and the
    largest ratio, widened by SAME; `p` is 0 where all of that is above 1, else 1. `confidence`
    means nothing."""
    import numpy as np

    del confidence
    values = finite(log_ratios, "log ratios")
    low, high = float(values.min()) - SAME, float(values.max()) + SAME
    return Comparison(
        ratio=ratio_of(float(np.median(values))),
        low=ratio_of(low),
        high=ratio_of(high),
        p=0.0 if low > 0 else 1.0,
        n=len(values),
        reason="",
    )


# Log ratios come from integer nanoseconds: smaller differences are rounding, and count as ties.
TIE_DIGITS = 12

Vector: TypeAlias = "NDArray[np.float64]"

# The meaning of a small p: left takes longer, left takes less time, or the sides differ.
Alternative = Literal["greater", "less", "two-sided"]


class Comparison(msgspec.Struct, frozen=True):
    """`ratio` is left over right; `low` and `high` its two-sided confidence interval, whatever the
    alternative (None where no interval with that confidence exists or the test has none; `reason`
    says which, and what else there is to know); `p` is that of the alternative. `n` counts
    launches, of the smaller side if unpaired. `freedom`: the degrees of freedom of the interval,
    where other cells tell of the variance too (0: the launches alone)."""

    ratio: float
    low: float | None
    high: float | None
    p: float
    n: int
    reason: str
    freedom: float = 0.0


class Test(msgspec.Struct, frozen=True):
    """`run(left, right, alternative, confidence)`: seconds per launch, one dimension each; `paired`
    tests take as many of one side as of the other, in the order of launches."""

    name: str
    paired: bool
    run: Callable[[ArrayLike, ArrayLike, Alternative, float], Comparison]


def of_tails(at_least: float, at_most: float, alternative: Alternative) -> float:
    """p from the two tails that hold the observed value. Two-sided: twice the smaller one, which is
    valid also where the null distribution is not symmetric."""
    if alternative == "greater":
        return at_least
    if alternative == "less":
        return at_most
    return min(1.0, 2 * min(at_least, at_most))


def normal_tail(observed: float, mean: float, variance: float) -> float:
    """P(X ≥ observed) of a normal X; 1 where it has no variance."""
    if variance == 0:
        return 1.0
    return 0.5 * math.erfc((observed - mean) / math.sqrt(2 * variance))


def normal_order(mean: float, variance: float, tail: float) -> int:
    """The place of the confidence limit among the ordered averages or differences."""
    from statistics import NormalDist

    return max(0, math.floor(mean + NormalDist().inv_cdf(tail) * math.sqrt(variance) + 0.5))


def interval(
    ordered: Vector, order: int, n: int, confidence: float
) -> tuple[float | None, float | None, str]:
    """The `order`-th smallest and largest of the ordered logarithms, as ratios; and a reason."""
    if order == 0:
        launches = "1 launch is" if n == 1 else f"{n} launches are"
        return None, None, f"{launches} too few for a {100 * confidence:g} % interval"
    return ratio_of(float(ordered[order - 1])), ratio_of(float(ordered[-order])), ""


def middle_of(ordered: Vector) -> float:
    """The median of values that are in order."""
    last = len(ordered) - 1
    return float(ordered[last // 2] + ordered[(last + 1) // 2]) / 2


def differences(log_left: Vector, log_right: Vector) -> Vector:
    """All differences between two samples, ascending; their median is the Hodges-Lehmann shift."""
    import numpy as np

    return np.sort(np.subtract.outer(log_left, log_right), axis=None)


def ratio_of(log_ratio: float) -> float:
    return math.exp(min(log_ratio, 700.0))


def finite(values: ArrayLike, what: str) -> Vector:
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{what}: one dimension and at least one value are needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: a value is not a finite number")
    return array


def logarithms(seconds: ArrayLike, what: str) -> Vector:
    import numpy as np

    array = finite(seconds, what)
    if not (array > 0).all():
        raise ValueError(f"{what}: a time is not positive")
    return np.log(array)


def both_logarithms(left: ArrayLike, right: ArrayLike) -> tuple[Vector, Vector]:
    return logarithms(left, "left"), logarithms(right, "right")


def paired_logarithms(left: ArrayLike, right: ArrayLike) -> Vector:
    """The log ratios of times: left[i] and right[i] come from the same launch."""
    log_left, log_right = both_logarithms(left, right)
    if len(log_left) != len(log_right):
        raise ValueError(
            f"{len(log_left)} launches on the left, {len(log_right)} on the right: a paired test "
            "needs the same launches on both sides"
        )
    return log_left - log_right
