"""The distance between the results of whole experiments. Pure: one value a trial in, numbers
out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

PLAIN = ("each", "series")
"""The plain schemes that ours is compared with: loops of the probe (`set plain=`)."""

_MIBIBYTES = 40
_MOST = 1000


class TrialSpread(msgspec.Struct, frozen=True):
    """`seconds`: what each trial reports, in order. `percent`: the largest normalised run time,
    minus one (seed 002, figure 12; its Table 1 divides by the largest instead); `cv_percent`:
    standard deviation over mean."""

    seconds: list[float]
    percent: float
    cv_percent: float


class CellSpread(msgspec.Struct, frozen=True):
    """One cell. `ours`: median over a trial's launches of their medians; `ours_mean`: the mean of
    them, as the seed has it; `plain`: one launch, by scheme. `smaller`: ours spreads less than
    every plain scheme."""

    function: str
    nprocs: int
    bytes: int
    ours: TrialSpread
    ours_mean: TrialSpread
    plain: dict[str, TrialSpread]
    smaller: bool


def normalised(values: ArrayLike) -> NDArray[np.float64]:
    """t_i / min_j t_j (seed 002, section 5.3). Raises ValueError unless all are positive numbers.
    Shape (trials,)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) == 0 or not (np.isfinite(array) & (array > 0)).all():
        raise ValueError("run times: one dimension of positive numbers is needed")
    return np.asarray(array / array.min(), dtype=np.float64)


def spread(seconds: Sequence[float]) -> TrialSpread:
    """Raises ValueError for fewer than two trials."""
    if len(seconds) < 2:
        raise ValueError("a spread needs two trials")
    array = np.asarray(seconds, dtype=np.float64)
    percent = 100 * (float(normalised(array).max()) - 1)
    variation = 100 * float(array.std(ddof=1) / array.mean())
    return TrialSpread([float(value) for value in array], percent, variation)


def cell(
    function: str,
    nprocs: int,
    size: int,
    launches: Sequence[Sequence[float]],
    plain: Mapping[str, Sequence[float]],
) -> CellSpread:
    """`launches[i]`: medians of the launches of trial i; `plain[scheme][i]`: what the scheme
    reports beside it. Seconds."""
    own_spread = spread([float(np.median(trial)) for trial in launches])
    means = spread([float(np.mean(trial)) for trial in launches])
    plain_spreads = {name: spread(values) for name, values in plain.items()}
    smaller = all(own_spread.percent < spread.percent for spread in plain_spreads.values())
    return CellSpread(function, nprocs, size, own_spread, means, plain_spreads, smaller)


def plain_repetitions(size: int) -> int:
    """Return what the Intel MPI Benchmarks do by default: 1000, fewer where they would send more
    than 40 MiB in all. (The OSU benchmarks take 1000 up to 8 KiB and 100 beyond.)"""
    return max(1, min(_MOST, _MIBIBYTES * 2**20 // max(1, size)))
