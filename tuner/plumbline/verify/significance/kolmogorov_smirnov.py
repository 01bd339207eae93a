"""Kolmogorov-Smirnov of launches that are not paired (Hunold et al., Euro-Par 2016, section 4.3):
does some share of one side lie beyond the other side? Source: Hodges, Arkiv för Matematik 3 (1958),
for the lattice paths; Schröer and Trenkler, Computational Statistics & Data Analysis 20 (1995), for
ties."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from plumbline.verify.significance.comparison import (
    TIE_DIGITS,
    Alternative,
    Comparison,
    Test,
    both_logarithms,
    differences,
    middle_of,
    ratio_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def kolmogorov_smirnov(
    left: ArrayLike,
    right: ArrayLike,
    alternative: Alternative = "greater",
    confidence: float = 0.95,
) -> Comparison:
    """p is exact for any number of launches, conditional on ties. The statistic of "greater" is the
    largest excess of the right side's distribution function over the left side's: it sees any
    slower tail, and so has no interval for the ratio, whatever the confidence."""
    import numpy as np

    del confidence
    log_left, log_right = both_logarithms(left, right)
    m, n = len(log_left), len(log_right)
    values, counts = np.unique(
        np.round(np.concatenate([log_left, log_right]), TIE_DIGITS), return_counts=True
    )
    below_left = np.searchsorted(np.sort(np.round(log_left, TIE_DIGITS)), values, side="right")
    below = np.cumsum(counts)
    excess = (below - below_left) * m - below_left * n
    signed = {"greater": excess, "less": -excess, "two-sided": np.abs(excess)}[alternative]
    p = _reached(m, n, tuple(below.tolist()), max(0, int(signed.max())), alternative)
    ratio = ratio_of(middle_of(differences(log_left, log_right)))
    reason = "the Kolmogorov-Smirnov test has no interval for the ratio"
    return Comparison(ratio, None, None, p, min(m, n), reason)


TEST = Test("kolmogorov-smirnov", False, kolmogorov_smirnov)


@lru_cache(maxsize=256)
def _reached(
    m: int, n: int, ends: tuple[int, ...], distance: int, alternative: Alternative
) -> float:
    """P(some excess ≥ distance) over all orders of m left and n right values. An order is a lattice
    path; `ends` are the lengths at which a run of equal values is over, and the excess counts.
    Cost: (m + n) vector operations over m + 1 states."""
    import numpy as np

    if distance == 0:
        return 1.0
    total, stops = m + n, frozenset(ends)
    i = np.arange(m + 1)
    alive = np.zeros(m + 1)  # probability of having seen i left values, the distance not reached
    alive[0] = 1.0
    reached = 0.0
    for length in range(1, total + 1):
        step_left = alive * (m - i) / (total - length + 1)
        alive -= step_left
        alive[1:] += step_left[:-1]
        if length in stops:
            excess = (length - i) * m - i * n
            signed = {"greater": excess, "less": -excess, "two-sided": np.abs(excess)}[alternative]
            there = signed >= distance
            reached += float(alive[there].sum())
            alive[there] = 0.0
    return min(1.0, reached)
