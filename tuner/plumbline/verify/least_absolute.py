"""Weights of a few columns by least absolute deviations, none below 0."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_ROUNDING = 1e-12
_FLAT = 1e-12  # a determinant, of columns of length 1, below which rows say the same


def weights(columns: Vector, goal: Vector) -> Vector:
    """w ≥ 0 with the least Σ |columns w - goal|; `columns[point, part]`, `goal[point]`.

    Exact: of the solutions one lies where as many points as there are parts are met, or a weight is
    0 (Bloomfield and Steiger, "Least Absolute Deviations", 1983); all such places are looked at, so
    it is for two or three parts and some dozens of points."""
    parts = columns.shape[1]
    scales = np.abs(columns).sum(axis=0)
    scales[scales == 0] = 1.0
    scaled = columns / scales
    rows = np.vstack([np.eye(parts), scaled])
    targets = np.concatenate([np.zeros(parts), goal])
    chosen = np.array(list(combinations(range(len(rows)), parts)))
    systems = rows[chosen]
    lengths = np.linalg.norm(systems, axis=2).prod(axis=1)
    regular = np.abs(np.linalg.det(systems)) > _FLAT * lengths
    corners = np.linalg.solve(systems[regular], targets[chosen[regular]][:, :, None])[:, :, 0]
    below = corners.min(axis=1) < -_ROUNDING * np.abs(corners).max(axis=1)
    corners = np.maximum(corners[~below], 0.0)
    deviations = np.abs(corners @ scaled.T - goal).sum(axis=1)
    best: Vector = corners[int(np.argmin(deviations))] / scales
    return best
