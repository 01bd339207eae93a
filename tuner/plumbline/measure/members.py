"""Comparison of the ranks that launches visit: do they differ more than their visits do?

A launch is the statistical replicate. Visits of the same ranks are as good as launches with ranks
of their own where what a case takes depends on the moment, and not on the ranks that measure it:
the mean of launches that visit the same ranks v times has 1 + (v - 1) r times the variance of the
mean of as many with ranks of their own, r being the intraclass correlation (Kish, Survey Sampling
(1965), section 5.4).

Pure: no clock, file or database."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Visits of FEWEST ranks are taken for launches; where the correlation of visits is known, visits of
# so many ranks that LAUNCHES of an experiment have this design effect, 1 + (v - 1) r.
FEWEST, LAUNCHES = 6, 30
_DESIGN_EFFECT = 1.4
LEAST_REVISITS = 9  # launches on ranks that had been visited; fewer say little


def correlation(cases: Iterable[Mapping[int, float]], members: Mapping[int, str]) -> float | None:
    """Return the intraclass correlation of logarithms of seconds, over all cases together; None
    where too few launches have visited the same ranks, or nothing varies. `cases`: seconds of each
    case by launch; `members`: the ranks of each launch.

    What a launch does to all of its cases is taken off first, as it does not show in ratios; then
    the mean of a case over all first visits of ranks, over all second ones and so on, as it changes
    with time. The sums of squares of all cases, each in units of its own variance, make one
    analysis of variance with unequal groups (Searle, Casella and McCulloch, Variance Components
    (1992), section 3.6)."""
    import numpy as np

    launches = {launch: place for place, launch in enumerate(sorted(members))}
    names, groups = np.unique([members[launch] for launch in launches], return_inverse=True)
    if len(launches) - len(names) < LEAST_REVISITS:
        return None
    visits = np.array([(groups[:place] == group).sum() for place, group in enumerate(groups)])
    rows = list(cases)
    table = np.full((len(rows), len(launches)), np.nan)
    for row, seconds in zip(table, rows, strict=True):
        row[[launches[launch] for launch in seconds]] = np.log(list(seconds.values()))
    table = table[np.isfinite(table).sum(axis=1) > 1]
    has_cases = np.isfinite(table).any(axis=0)
    table, groups, visits = table[:, has_cases], groups[has_cases], visits[has_cases]
    table -= np.nanmean(table, axis=1, keepdims=True)
    table -= np.nanmedian(table, axis=0)
    of_cases = [sums for row in table if (sums := _of_case(row, groups, visits)) is not None]
    between, within, between_degrees, within_degrees, size = np.sum(of_cases or [np.zeros(5)], 0)
    if not within:
        return None
    between, within = between / between_degrees, within / within_degrees
    return float((between - within) / (between + (size / between_degrees - 1) * within))


def number(correlation: float | None) -> int:
    """Return how many ranks launches of an experiment visit in turn, FEWEST at least."""
    if correlation is None or correlation <= 0:
        return FEWEST
    visits = 1 + (_DESIGN_EFFECT - 1) / correlation
    return max(FEWEST, min(LAUNCHES // 2, math.ceil(LAUNCHES / visits)))


def _of_case(
    row: NDArray[np.float64], groups: NDArray[np.intp], visits: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """Return the sums of squares between and within groups, the degrees of freedom of both, and the
    size of a group times those between; None where the case has nothing to say. As the unit is the
    variance of the case, large correlations come out somewhat too small."""
    import numpy as np

    there = np.isfinite(row)
    launches = np.bincount(visits[there], minlength=visits.max() + 1)
    there &= 2 * launches[visits] >= len(np.unique(groups[there]))  # a mean of few is theirs
    values, own = row[there], np.unique(groups[there], return_inverse=True)[1]
    rounds = np.unique(visits[there], return_inverse=True)[1]
    values = values - (np.bincount(rounds, values) / np.bincount(rounds))[rounds]
    counts = np.bincount(own)
    total = (values**2).sum()
    degrees = (len(counts) - 1, len(values) - len(counts) - int(rounds.max(initial=0)))
    if total == 0 or min(degrees) <= 0:
        return None
    between = (np.bincount(own, values) ** 2 / counts).sum()
    unit = total / sum(degrees)
    size = len(values) - (counts**2).sum() / len(values)
    return np.array([between / unit, (total - between) / unit, *degrees, size])
