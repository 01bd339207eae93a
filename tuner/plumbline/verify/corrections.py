"""Corrections for many tests. Sources: Benjamini and Hochberg, JRSS B 57 (1995); Benjamini and
Bogomolov, JRSS B 76 (2014), for tests inside selected families."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plumbline.verify.significance.comparison import Vector

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def benjamini_hochberg(p: ArrayLike) -> Vector:
    """Adjusted p-values: rejecting those below α keeps the false discovery rate at α."""
    return adjusted_within(p, p)


def adjusted_within(p: ArrayLike, family: ArrayLike) -> Vector:
    """The least α at which each p, a test inside a member of the family, is rejected.

    Benjamini-Hochberg selects R of the m members at α; a test inside a selected one is rejected at
    α R/m (Benjamini and Bogomolov). So the value is the minimum over k of m max(p, p_(k)) / k,
    which for the members' own p is the Benjamini-Hochberg adjustment."""
    import numpy as np

    members = np.sort(_probabilities(family))
    tests = _probabilities(p)
    m = len(members)
    if m == 0:
        return np.zeros(0)
    at_least = np.maximum.outer(tests, members) * (m / np.arange(1, m + 1))
    return np.asarray(np.minimum(at_least.min(axis=1), 1.0), dtype=np.float64)


def _probabilities(p: ArrayLike) -> Vector:
    import numpy as np

    array = np.asarray(p, dtype=np.float64)
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError("p-values must lie between 0 and 1")
    return array
