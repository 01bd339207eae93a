"""Average run length and delay of a CUSUM, by computation; and the threshold for a wanted one.

The sum goes up by what a value lies above the reference, by `GAIN` at most, and never below 0
(Page, Biometrika 41 (1954)). It is a Markov chain over steps of its height (Brook and Evans,
Biometrika 59 (1972)): row sums of the inverse of I - Q are run lengths, powers of Q say what is
found in time. All heights are in scales of the cell (baseline.py). Noise is Student's t with
`FREEDOM` degrees of freedom: tails as heavy as launches have are paid for in advance."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from plumbline.verify.significance.distributions import student4_below

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

FREEDOM = 4.0  # of student4_below
# The most that one canary can add to a sum, however extreme its value is.
GAIN = 1.5
# An alarm needs at least so many canaries, whatever their values are.
LEAST_CANARIES = 4
# The number of heights of the sum within a gain. A gain is a whole number of heights, so that sums
# of outliers are heights. Eight times as many heights change run lengths by less than 3 %.
HEIGHTS = 16
_BEYOND = 1e11  # longer runs are lost in rounding


def run_length(reference: float, threshold: float) -> float:
    """Canaries to an alarm when nothing changes, from a sum of 0; infinity beyond 1e11."""
    import numpy as np

    stays = _chain(reference, threshold, 0.0)
    try:
        length = float(np.linalg.solve(np.eye(len(stays)) - stays, np.ones(len(stays)))[0])
    except np.linalg.LinAlgError:
        return math.inf
    return length if 0 < length < _BEYOND else math.inf


def found_within(reference: float, threshold: float, canaries: int, shift: float) -> float:
    """Probability of an alarm at the latest in the canary of this number after a change by `shift`
    scales, from a sum of 0 (Lorden's worst case: Annals of Mathematical Statistics 42 (1971))."""
    import numpy as np

    stays = _chain(reference, threshold, shift)
    at = np.zeros(len(stays))
    at[0] = 1.0
    for _ in range(canaries):
        at = at @ stays
    return float(1 - at.sum())


@lru_cache(maxsize=4096)
def threshold(reference: float, least_run_length: float) -> float:
    """Return the lowest threshold with at least this run length (in canaries), and with
    LEAST_CANARIES behind each alarm."""
    low = (LEAST_CANARIES - 1) * GAIN * (1 + 1e-6)
    if run_length(reference, low) >= least_run_length:
        return low
    high = 2 * low
    while run_length(reference, high) < least_run_length:
        low, high = high, 2 * high
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        if run_length(reference, middle) < least_run_length:
            low = middle
        else:
            high = middle
    return high


def _chain(reference: float, threshold: float, shift: float) -> Matrix:
    """Return the chain of heights below the threshold: from which (rows) to which (columns)."""
    import numpy as np

    step = GAIN / HEIGHTS
    heights = np.arange(math.ceil(threshold / step)) * step
    tops = heights + step / 2
    tops[-1] = threshold
    rises = tops[None, :] - heights[:, None]
    below = student4_below(rises + reference - shift)
    below[rises >= GAIN] = 1.0
    return np.asarray(np.diff(below, axis=1, prepend=0.0))
