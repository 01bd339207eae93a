"""How much of a message goes on beside computation: the overhead ratio of A. Denis and F. Trahay,
"MPI Overlap: Benchmark and Analysis", ICPP 2016, equation 1, with an interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline_db.records import Overlap

_DRAWS = 400
_MAD = 1.4826  # from a median absolute deviation to a standard deviation, of normal values


class Ratio(msgspec.Struct, frozen=True):
    """Seconds of communication alone, computation alone and both, and what both take beyond the
    longer of the two, over the shorter: 0 is perfect overlap, 1 one after the other, more is worse
    than that. `low`, `high`: 95 %; `both_low`, `both_high`: of the time of both; of several
    launches for the library here, of one for that launch alone. `noisy`: the times of the cell
    scatter by more than the shorter of the two, so that the ratio says nothing."""

    communication: float
    computation: float
    both: float
    value: float
    low: float
    high: float
    noisy: bool
    both_low: float | None = None
    both_high: float | None = None


def latency(ns: Sequence[int]) -> float:
    """Nanoseconds that an empty message takes."""
    return float(np.median(ns))


def ratio(launches: Sequence[tuple[Overlap, float]], seed: int = 1) -> Ratio | None:
    """Of one cell, by launch, each with its latency in nanoseconds. None where nothing was timed,
    or in one of them there is nothing to overlap."""
    found = [_times(cell, empty) for cell, empty in launches if cell.delivered and cell.both_ns]
    if not found:
        return None
    count = min(one.shape[1] for one in found)
    times = np.stack([one[:, :count] for one in found])  # launch, kind, triple
    middle = np.median(times, axis=(0, 2))
    shorter = float(min(middle[0], middle[1]))
    if shorter <= 0 or np.any(np.median(times[:, :2], axis=2) <= 0):
        return None
    value = float(_ratios(middle[:, None])[0])
    (low, high), (both_low, both_high) = (
        _within_one(times[0], seed) if len(found) == 1 else _across(times, value, float(middle[2]))
    )
    apart = np.abs(times - middle[None, :, None])
    scatter = _MAD * float(np.max(np.median(apart, axis=(0, 2))))
    return Ratio(
        communication=float(middle[0]) / 1e9,
        computation=float(middle[1]) / 1e9,
        both=float(middle[2]) / 1e9,
        value=value,
        low=low,
        high=high,
        noisy=scatter > shorter,
        both_low=both_low / 1e9,
        both_high=both_high / 1e9,
    )


def _times(cell: Overlap, latency_ns: float) -> NDArray[np.float64]:
    """Communication, computation and both, a row each, without empty messages, of one half."""
    off = cell.latencies * latency_ns
    communication = (np.asarray(cell.communication_ns, dtype=float) - off) / cell.halves
    both = (np.asarray(cell.both_ns, dtype=float) - off) / cell.halves
    return np.stack([communication, np.asarray(cell.computation_ns, dtype=float), both])


Interval = tuple[float, float]


def _within_one(times: NDArray[np.float64], seed: int) -> tuple[Interval, Interval]:
    """Of the ratio and of the time of both: percentiles over whole triples that are drawn with
    replacement."""
    count = times.shape[1]
    which = np.random.default_rng(seed).integers(0, count, (_DRAWS, count))
    middles = np.median(times[:, which], axis=2)
    return _percentiles(_ratios(middles)), _percentiles(middles[2])


def _percentiles(drawn: NDArray[np.float64]) -> Interval:
    low, high = np.quantile(drawn[np.isfinite(drawn)], (0.025, 0.975))
    return float(low), float(high)


def _across(times: NDArray[np.float64], value: float, both: float) -> tuple[Interval, Interval]:
    """Of the ratio and of the time of both: Student's t of the launches' own. Resampling so few
    launches would give too little: the scatter of n drawn ones is too small by a factor of
    sqrt((n - 1) / n), and quantiles of the normal distribution are too near."""
    middles = np.median(times, axis=2).T
    return _around(value, _ratios(middles)), _around(both, middles[2])


def _around(centre: float, own: NDArray[np.float64]) -> Interval:
    from scipy.special import stdtrit

    half = float(stdtrit(len(own) - 1, 0.975) * np.std(own, ddof=1)) / math.sqrt(len(own))
    return centre - half, centre + half


def _ratios(middles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of columns of three times."""
    communication, computation, both = middles
    shorter = np.minimum(communication, computation)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            shorter > 0, (both - np.maximum(communication, computation)) / shorter, np.nan
        )
