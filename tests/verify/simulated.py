"""Simulated log ratios, a row a cell and a column a launch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plumbline.verify.significance.null_distributions import signed_rank_counts

Times = NDArray[np.float64]


def heavy(rng: np.random.Generator, shape: int | tuple[int, ...], spread: float) -> Times:
    """Student's t with 2 degrees of freedom: no variance, one launch in ten far off."""
    return np.asarray(rng.standard_t(2, shape) * spread)


def first(logs: Times, launches: int, cell: int) -> list[float]:
    return list(logs[cell, :launches])


def signed_rank_p(log_ratios: Times) -> Times:
    """p of untied log ratios along the last axis, all at once."""
    n = log_ratios.shape[-1]
    counts = signed_rank_counts(tuple(range(2, 2 * n + 1, 2)))[::2]
    upper_tail = counts[::-1].cumsum()[::-1] / 2.0**n
    ranks = np.abs(log_ratios).argsort(axis=-1).argsort(axis=-1) + 1
    return np.asarray(upper_tail[(ranks * (log_ratios > 0)).sum(axis=-1)])
