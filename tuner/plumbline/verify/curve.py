"""Ratios of one candidate along sizes: what is measured at one size, in one way of use, with one
type, tells of the others too.

The log ratios of a candidate are taken for a Gaussian process (C. E. Rasmussen and C. K. I.
Williams, "Gaussian Processes for Machine Learning" (2006), chapter 2): a level of its own, a curve
over the logarithms of the volume and of the ranks, a smaller curve for each way of use and for each
type, and a part that each cell has for itself. How far true ratios lie apart was recorded in
campaigns (docs/design/verification.md); by which factor they do so here, the measured ones say
(their marginal likelihood: empirical Bayes). A cell that lies far above what the others make
expected is judged by itself: a library or a candidate may change its protocol at any size. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

# Standard deviations of true log ratios: between candidates, sizes, ways of use and types, and the
# residual.
_LEVEL, _SIZES, _USES, _TYPES, _OWN = 1.0, 0.17, 0.09, 0.04, 0.02
_REACH = 4.0  # doublings of the volume over which a curve forgets
_RANKS_REACH = 2.0  # doublings of nodes, and of ranks a node
_UNKNOWN = 1e6  # variance of a cell that was not measured
_FACTORS = (1.0, 4.0, 16.0)  # of these variances
_ODD = 2.0  # standard errors above what the other cells make expected


class CurvePoint(msgspec.Struct, frozen=True):
    """A cell of a candidate: its volume in bytes, way of use and type; the mean of its log ratios,
    and the variance of that mean (inf: not measured). The ranks are `nodes` times `ppn`."""

    bytes: int
    use: str
    type: str
    mean: float
    variance: float
    nodes: int = 1
    ppn: int = 1


class CurveEstimate(msgspec.Struct, frozen=True):
    """The log ratio of a cell by all cells: `mean` and standard `error`. `odd`: the cell lies above
    what the others make expected."""

    mean: float
    error: float
    odd: bool = False

    def low(self, confidence: float) -> float:
        return self.mean - self._half(confidence)

    def high(self, confidence: float) -> float:
        return self.mean + self._half(confidence)

    def _half(self, confidence: float) -> float:
        return self.error * NormalDist().inv_cdf((1 + confidence) / 2)

    @classmethod
    def of_several(cls, those: Collection[CurveEstimate]) -> CurveEstimate:
        """Return the mean of several cells; their errors may be the same one."""
        return cls(
            fmean(estimate.mean for estimate in those), fmean(estimate.error for estimate in those)
        )


def estimates(candidates: Sequence[Sequence[CurvePoint]]) -> list[list[CurveEstimate]]:
    """Return what the cells of each candidate say of each of them; none is without cells."""
    curves = [_Curve(points) for points in candidates]
    factor = max(
        _FACTORS,
        key=lambda factor_tried: math.fsum(curve.likelihood(factor_tried) for curve in curves),
    )
    return [curve.estimates(factor) for curve in curves]


class _Curve:
    """The cells of one candidate; matrices have a row and a column for each."""

    def __init__(self, points: Sequence[CurvePoint]) -> None:
        import numpy as np

        self._means = np.array([point.mean for point in points])
        self._noise = np.diag([min(point.variance, _UNKNOWN) for point in points])
        reaches = {"bytes": _REACH, "nodes": _RANKS_REACH, "ppn": _RANKS_REACH}
        places = np.array(
            [
                [math.log2(max(1, getattr(point, key))) / reach for key, reach in reaches.items()]
                for point in points
            ]
        )
        near = np.exp(-sum(np.abs(np.subtract.outer(axis, axis)) for axis in places.T))
        same_use, same_type = (
            np.equal.outer(numbers, numbers).astype(float)
            for numbers in (
                np.unique([point.use for point in points], return_inverse=True)[1],
                np.unique([point.type for point in points], return_inverse=True)[1],
            )
        )
        self._shape = (
            _SIZES**2 * near
            + _USES**2 * same_use * (1 + near) / 2
            + _TYPES**2 * same_type * (1 + near) / 2
            + _OWN**2 * np.eye(len(points))
        )

    def _prior(self, factor: float) -> Matrix:
        prior: Matrix = _LEVEL**2 + factor * self._shape
        return prior

    def likelihood(self, factor: float) -> float:
        """Return the logarithm of the density of what was measured, but for a constant."""
        import numpy as np

        root = np.linalg.cholesky(self._prior(factor) + self._noise)
        standard = np.linalg.solve(root, self._means)
        return float(-0.5 * standard @ standard - np.log(np.diag(root)).sum())

    def estimates(self, factor: float) -> list[CurveEstimate]:
        """Return the posterior of each cell (Rasmussen and Williams, equations 2.25 and 2.26), and
        whether the cell fits what the others predict (equation 5.12)."""
        import numpy as np

        prior = self._prior(factor)
        inverse = np.linalg.inv(prior + self._noise)
        means = prior @ inverse @ self._means
        variances = np.diag(prior - prior @ inverse @ prior)
        odd = inverse @ self._means / np.sqrt(np.diag(inverse))
        return [
            CurveEstimate(float(mean), math.sqrt(max(0.0, variance)), bool(apart > _ODD))
            for mean, variance, apart in zip(means, variances, odd, strict=True)
        ]
