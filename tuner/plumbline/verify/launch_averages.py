"""The way from the raw samples of a launch to its averages: algorithm 3 of seed 002 (section 5.1).

Pure. Samples are filtered here, never where they are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from plumbline.verify.significance.comparison import Vector, finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FENCE = 1.5  # interquartile ranges


class LaunchAverage(msgspec.Struct, frozen=True):
    """Median and mean of what was kept of a launch's samples, in their unit; `kept` of `taken`."""

    median: float
    mean: float
    kept: int
    taken: int


def averages(launches: Iterable[ArrayLike], *, filtered: bool = True) -> list[LaunchAverage]:
    """One LaunchAverage for each launch, from its samples; `filtered`: Tukey's outliers are left
    out first (lines 4 to 6 of the algorithm)."""
    import numpy as np

    averages_by_launch = []
    for launch in launches:
        samples = finite(launch, "samples")
        kept = tukey_filter(samples) if filtered else samples
        averages_by_launch.append(
            LaunchAverage(float(np.median(kept)), float(np.mean(kept)), len(kept), len(samples))
        )
    return averages_by_launch


def tukey_filter(values: ArrayLike) -> Vector:
    """The values from Q1 - 1.5 IQR to Q3 + 1.5 IQR, both included, in their order (seed 002, 3.4).

    Quartiles interpolate linearly between order statistics, as R's `quantile` does by default: type
    7 of Hyndman and Fan, The American Statistician 50 (1996). Of fewer than 4 values none can be an
    outlier."""
    import numpy as np

    samples = finite(values, "samples")
    if len(samples) < 4:
        return samples
    first, third = np.quantile(samples, [0.25, 0.75], method="linear")
    reach = FENCE * (third - first)
    return np.asarray(samples[(samples >= first - reach) & (samples <= third + reach)])
