"""Estimators from the samples of a launch to one log ratio: how much slower is one case than
another there? Pure. Both estimators are antisymmetric, so that for equal cases their results are
symmetric about zero, which is what the signed-rank test asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


Estimator = Callable[["ArrayLike", "ArrayLike"], float]

_MANY = 256


def medians(left: ArrayLike, right: ArrayLike) -> float:
    """Log of the ratio of the medians (seed 000, section 4.3)."""
    import numpy as np

    return float(np.log(median(_times(left))) - np.log(median(_times(right))))


def pairs(left: ArrayLike, right: ArrayLike) -> float:
    """The median over all pairs of samples of their log ratio: the Hodges-Lehmann estimate of a
    shift between two samples (Hollander, Wolfe, Chicken, 3rd ed., section 4.2), on the logarithms.
    Where the times of a cell have two heaps, a median jumps between them; this does not. What
    verification uses. Many samples are represented by _MANY of their quantiles."""
    import numpy as np

    left_logs, right_logs = np.log(_few(_times(left))), np.log(_few(_times(right)))
    return median(np.subtract.outer(left_logs, right_logs).ravel())


def median(values: NDArray[np.float64]) -> float:
    """Return what numpy.median says of one dimension without NaN, in a quarter of its time where
    values are few."""
    import numpy as np

    middle, odd = divmod(len(values), 2)
    if odd:
        return float(np.partition(values, middle)[middle])
    parted = np.partition(values, (middle - 1, middle))
    return float(np.mean(parted[middle - 1 : middle + 1]))


def _few(times: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    if len(times) <= _MANY:
        return times
    return np.quantile(times, (np.arange(_MANY) + 0.5) / _MANY)


def _times(values: ArrayLike) -> NDArray[np.float64]:
    import numpy as np

    return np.asarray(values, dtype=np.float64)


ESTIMATORS: dict[str, Estimator] = {"medians": medians, "pairs": pairs}
