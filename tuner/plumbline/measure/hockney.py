"""Hockney's model of a message, t(m) = α + β m, out of ping-pongs (R. W. Hockney, "The
communication challenge for MPP", Parallel Computing 20, 1994). Pure.

A line is fitted by least absolute relative deviations, the smallest Σ |α + β m - t| / t with α, β ≥
0: least squares would see nothing but the largest messages, whose times are thousands of times as
long, and one size that a disturbance or a change of protocol has lifted would turn the line
(Bloomfield and Steiger, "Least Absolute Deviations", 1983). The launch is the replicate: α and β
are medians over the launches' own fits, with the distribution-free interval of a median. Libraries
change protocol with the size (eager, rendezvous): where two pieces fit far better than one line,
both are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline.verify.significance.distributions import binomial_at_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

LEAST_SIZES = 3
"""Sizes that a piece must have: two lie on a line whatever they are."""


class Value(msgspec.Struct, frozen=True):
    """The median over launches; `low` and `high` hold its 95 % interval, None with fewer than six
    launches."""

    value: float
    low: float | None
    high: float | None


class HockneyLine(msgspec.Struct, frozen=True):
    """One line for `bytes_from <= m <= bytes_to`. `deviation` is the mean of |α + β m - t| / t over
    the sizes, t the median over launches."""

    bytes_from: int
    bytes_to: int
    alpha_seconds: Value
    beta_seconds_per_byte: Value
    deviation: float
    launches: int


class Fit(msgspec.Struct, frozen=True):
    """`pieces` is empty where one line does, else two lines that share no size."""

    whole: HockneyLine
    pieces: list[HockneyLine]


def fit(times: Mapping[int, Sequence[float]]) -> Fit:
    """`times[bytes][launch]`: half round trips in seconds, medians of launches, the launches in the
    same order for every size. Raises ValueError for fewer than LEAST_SIZES sizes, sizes with
    different numbers of launches, or a time that is not positive and finite."""
    import numpy as np

    sizes = np.array(sorted(times), dtype=float)
    if len(sizes) < LEAST_SIZES:
        raise ValueError(f"{len(sizes)} sizes are too few for a line: {LEAST_SIZES} or more")
    if len({len(times[int(size)]) for size in sizes}) != 1:
        raise ValueError("every size needs a time of every launch")
    seconds = np.array([times[int(size)] for size in sizes], dtype=float).T
    if not (seconds.size and np.isfinite(seconds).all() and (seconds > 0).all()):
        raise ValueError("times must be positive and finite, and of at least one launch")
    whole = _line(sizes, seconds)
    first = _switch(sizes, np.median(seconds, axis=0), whole.deviation)
    pieces = []
    if first is not None:
        pieces = [
            _line(sizes[:first], seconds[:, :first]),
            _line(sizes[first:], seconds[:, first:]),
        ]
    return Fit(whole, pieces)


def line(sizes: Vector, seconds: Vector) -> tuple[float, float]:
    """α and β of one line through positive times, by least absolute relative deviations."""
    import numpy as np

    from plumbline.verify import least_absolute

    columns = np.column_stack([1 / seconds, sizes / seconds])
    alpha, beta = least_absolute.weights(columns, np.ones(len(sizes))).tolist()
    return alpha, beta


def median_interval(values: Sequence[float]) -> Value:
    """Median and the interval between its order statistics, 95 % or more whatever the distribution;
    none for fewer than six values (Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods",
    3rd ed., section 3.6)."""
    import numpy as np

    ordered = sorted(values)
    count = len(ordered)
    outside = 0
    while 2 * binomial_at_most(outside, count, 0.5) <= 0.05:
        outside += 1
    middle = float(np.median(ordered))
    if outside < 1:
        return Value(middle, None, None)
    return Value(middle, ordered[outside - 1], ordered[count - outside])


def _line(sizes: Vector, seconds: Vector) -> HockneyLine:
    """`seconds[launch, size]`."""
    import numpy as np

    alphas, betas = zip(*(line(sizes, launch) for launch in seconds), strict=True)
    alpha, beta = median_interval(alphas), median_interval(betas)
    middle = np.median(seconds, axis=0)
    return HockneyLine(
        bytes_from=int(sizes[0]),
        bytes_to=int(sizes[-1]),
        alpha_seconds=alpha,
        beta_seconds_per_byte=beta,
        deviation=_deviation((alpha.value, beta.value), sizes, middle),
        launches=len(seconds),
    )


def _deviation(values: tuple[float, float], sizes: Vector, seconds: Vector) -> float:
    import numpy as np

    alpha, beta = values
    return float(np.mean(np.abs((alpha + beta * sizes) / seconds - 1)))


def _switch(sizes: Vector, seconds: Vector, deviation: float) -> int | None:
    """Index of the first size of the second piece; None where two pieces do not help clearly: one
    line is off by less than 5 % on average, or two by more than half of what one is."""
    if deviation < 0.05 or len(sizes) < 2 * LEAST_SIZES:
        return None

    def off(first: int) -> float:
        total = 0.0
        for part in (slice(None, first), slice(first, None)):
            fitted = line(sizes[part], seconds[part])
            total += _deviation(fitted, sizes[part], seconds[part]) * len(sizes[part])
        return total / len(sizes)

    by = {first: off(first) for first in range(LEAST_SIZES, len(sizes) - LEAST_SIZES + 1)}
    best = min(by, key=lambda first: by[first])
    return best if by[best] < deviation / 2 else None
