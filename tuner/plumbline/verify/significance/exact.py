"""Log ratios of launches on a machine that repeats itself: nothing to test, only to compare.

Pure: arrays in, `Comparison` out. What is left between two launches is the rounding of times to
nanoseconds and the order of cases, `SAME` of a logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plumbline.verify.significance.comparison import Comparison, finite, ratio_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

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
