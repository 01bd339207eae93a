"""What the launches of a canary say of a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from plumbline.measure.experiment import without_shared_factor

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
