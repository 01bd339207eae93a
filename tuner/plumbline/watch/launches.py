"""What the launches of a canary say together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def of_launches(logs: Vector) -> Vector:
    """Log ratios, one a launch along the first axis, which goes: their Hodges-Lehmann centre, the
    median of the averages of all pairs, each with itself too. One launch of five that is far out
    moves it little, and of normal noise it keeps all but a twentieth (Hodges and Lehmann, Annals
    of Mathematical Statistics 34 (1963))."""
    rows, columns = np.triu_indices(len(logs))
    return np.asarray(np.median((logs[rows] + logs[columns]) / 2, axis=0))
