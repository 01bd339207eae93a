"""What the launches of a canary say of a cell; and how much wider the noise of one canary is than
that of others, by the cells that nothing but the machine can have changed. A busy machine slows
each cell by a factor of its own: what all share is taken off, what differs is seen here, and such a
canary says nothing of any cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from plumbline.measure.comparison import REFERENCE_CELLS, without_shared_factor
from plumbline.verify.significance.distributions import beta_quantile, student_quantile
from plumbline.watch.run_length import FREEDOM

LEVEL = 0.75  # a quarter of the references lies beyond
CONFIDENCE = 0.95

Vector = NDArray[np.float64]
Key = TypeVar("Key")


def less_shared(
    canary: Mapping[Key, Sequence[float]], references: Sequence[Key]
) -> dict[Key, list[float]]:
    """Log ratios, one a launch, without what the references share in each launch. Cells are in the
    first launches, as many as each has; references are in all of them."""
    found: dict[Key, list[float]] = {}
    for count in {len(logs) for logs in canary.values()}:
        those = {key: logs for key, logs in canary.items() if len(logs) == count}
        found |= without_shared_factor(those, [canary[key][:count] for key in references])
    return found


def of_launches(logs: Vector) -> Vector:
    """Log ratios, one a launch along the first axis, which goes: their Hodges-Lehmann centre, the
    median of the averages of all pairs, each with itself too. One launch of five that is far out
    moves it little, and of normal noise it keeps all but a twentieth (Hodges and Lehmann, Annals
    of Mathematical Statistics 34 (1963))."""
    rows, columns = np.triu_indices(len(logs))
    return np.asarray(np.median((logs[rows] + logs[columns]) / 2, axis=0))


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
