"""How much wider the noise of one canary is than that of others, by the cells that nothing but the
machine can have changed. A busy machine slows each cell by a factor of its own; what all share is
taken off, what differs is seen here, and such a canary says nothing of any cell."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from plumbline.measure.experiment import REFERENCE_CELLS
from plumbline.verify.significance.distributions import beta_quantile, student_quantile
from plumbline.watch.run_length import FREEDOM

LEVEL = 0.75  # a quarter of the references lies beyond
CONFIDENCE = 0.95

Vector = NDArray[np.float64]


def disturbance(values: Vector) -> Vector:
    """More than 1: wider than CONFIDENCE of quiet canaries. `values`: of the references in their
    scales, along the last axis, which goes. Fewer than REFERENCE_CELLS do not say (0)."""
    count = values.shape[-1]
    if count < REFERENCE_CELLS:
        return np.zeros(values.shape[:-1])
    at = math.ceil(LEVEL * count)
    distances = np.partition(np.abs(values), at - 1, axis=-1)[..., at - 1]
    return np.asarray(distances / _usual(at, count))


@lru_cache
def _usual(at: int, count: int) -> float:
    """What the distance of this order stays below in CONFIDENCE of the canaries."""
    share = beta_quantile(at, count - at + 1, CONFIDENCE)
    return student_quantile(FREEDOM, (1 + share) / 2)
