"""The baseline that is learnt of a cell before it is watched: where its log ratios lie, and how
wide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline.verify.significance.distributions import student_quantile
from plumbline.watch.run_length import FREEDOM

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]

# Quantiles of |value - middle| at which the noise must not exceed what the scale implies.
LEVELS = (0.5, 0.75, 0.9, 0.95)
LEAST_SCALE = 0.005  # what repeats itself to the digit changes by rounding, too
# The standard error of a middle, in scales, times the root of the number of canaries. The value for
# a scale is half of it, as covering all levels widens the scale (by a tenth after 72 canaries).
MIDDLE_ERROR, SCALE_MARGIN = 1.35, 0.5


class Baseline(msgspec.Struct, frozen=True):
    """`middle`: a log ratio. `scale`: of Student's t with FREEDOM degrees of freedom, whose tails
    are heavier than those of what was learnt. `canaries`: how many it was learnt from."""

    middle: float
    scale: float
    canaries: int

    @property
    def middle_error(self) -> float:
        """Standard error of the middle, in scales."""
        return MIDDLE_ERROR / math.sqrt(self.canaries)


def baseline_of(logs: Sequence[float]) -> Baseline:
    """Return that of one cell: log ratios, one a canary."""
    return baselines_of([logs])[0]


def baselines_of(logs: Sequence[Sequence[float]]) -> list[Baseline]:
    """Return those of cells that were learnt together: the log ratios of each, one a canary."""
    import numpy as np

    middles, scales = learn(np.array(logs).T, together=True)
    canaries = len(logs[0])
    return [
        Baseline(float(middle), float(scale), canaries)
        for middle, scale in zip(middles, scales, strict=True)
    ]


def learn(values: ArrayLike, *, together: bool = False) -> tuple[Vector, Vector]:
    """Middles and scales of cells: `values` are log ratios, a row a canary and a column a cell.
    `together`: of cells of one machine, whose memory is taken for that of each, too.

    The scale is the smallest one whose tails cover those of the values at all LEVELS, and a margin:
    one that is too small by chance costs more false alarms than one that is too large saves (what
    estimates do to charts: Jensen et al., Journal of Quality Technology 38 (2006))."""
    import numpy as np

    every = np.atleast_2d(np.asarray(values, dtype=np.float64))
    canaries = len(every)
    middles = np.median(every, axis=0)
    distances = np.sort(np.abs(every - middles), axis=0)
    levels = np.array(LEVELS)
    at = np.ceil(levels * canaries).astype(int) - 1
    usual = np.array([student_quantile(FREEDOM, (1 + level) / 2) for level in LEVELS])
    covered = distances[at] / usual[:, None]
    scales = covered.max(axis=0) * (1 + SCALE_MARGIN / math.sqrt(canaries))
    scales = np.maximum(scales, LEAST_SCALE)
    return middles, scales * _remembered((every - middles) / scales, together=together)


def _remembered(values: Vector, *, together: bool) -> Vector:
    """Return how much wider sums of values lie that follow each other than sums of values that know
    nothing of each other: by the correlation of neighbours, as far as it is more than chance (a
    standard error), and as if it went on (Johnson and Bagshaw, Technometrics 16 (1974)). One cell
    says little of it, all of a machine say much. Outliers are drawn in to where they say no more
    than others."""
    import numpy as np

    near = np.clip(values, -2.0, 2.0)
    squares = np.maximum((near**2).sum(axis=0), np.finfo(np.float64).tiny)
    correlation = (near[1:] * near[:-1]).sum(axis=0) / squares
    error = 1 / math.sqrt(len(values))
    share = correlation - error
    if together:
        share = np.maximum(share, correlation.mean() - error / math.sqrt(len(correlation)))
    share = np.clip(share, 0.0, 0.9)
    return np.asarray(np.sqrt((1 + share) / (1 - share)))
