"""The part of a message that goes on beside computation: the overhead ratio of A. Denis and F.
Trahay, "MPI Overlap: Benchmark and Analysis", ICPP 2016, equation 1, with an interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.verify.significance import distributions
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Overlap, OverlapLatency


def flaw_of_data(records: Iterable[object]) -> str:
    """Return that of the first such cell; empty: there is none."""
    for record in records:
        if isinstance(record, Overlap) and not record.delivered:
            cell = f"{record.bench} {record.function}".rstrip()
            return f"{cell}: of {record.bytes} bytes others came than were sent"
    return ""


def require_data(records: Iterable[object]) -> None:
    """Raises PlumblineError where there is one."""
    first_flaw = flaw_of_data(records)
    if first_flaw:
        raise PlumblineError(f"{first_flaw}; the library is wrong")


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


def latency(records: Iterable[object]) -> float:
    """Nanoseconds that an empty message takes, by the records of a launch."""
    empty = (record.ns for record in records if isinstance(record, OverlapLatency))
    return float(np.median([ns for samples in empty for ns in samples]))


def ratio(launches: Sequence[tuple[Overlap, float]], seed: int = 1) -> Ratio | None:
    """Return that of one cell, by launch, each with its latency in nanoseconds. None where nothing
    was timed, or in one of them there is nothing to overlap."""
    times = _all(launches)
    if times is None or np.any(np.median(times[:, :2], axis=2) <= 0):
        return None
    middle, scatter = _middle(times)
    noisy = bool(np.max(scatter) > min(middle[0], middle[1]))
    return _told(times, _ratios, noisy=noisy, seed=seed)


def slowdown(launches: Sequence[tuple[Overlap, float]], seed: int = 1) -> Ratio | None:
    """The same for `load`: the value is both / communication, the time of a message while threads
    compute over that while they sleep; 1 is undisturbed. `noisy`: the time without them scatters
    by more than itself. None where nothing was timed."""
    times = _all(launches)
    if times is None or np.any(np.median(times[:, 0], axis=1) <= 0):
        return None
    middle, scatter = _middle(times)
    return _told(times, _slowdowns, noisy=bool(scatter[0] > middle[0]), seed=seed)


def _all(launches: Sequence[tuple[Overlap, float]]) -> NDArray[np.float64] | None:
    """Return by launch, kind of time and triple."""
    times_by_launch = [
        _times(cell, empty) for cell, empty in launches if cell.delivered and cell.both_ns
    ]
    if not times_by_launch:
        return None
    count = min(times.shape[1] for times in times_by_launch)
    return np.stack([times[:, :count] for times in times_by_launch])


def _times(cell: Overlap, latency_ns: float) -> NDArray[np.float64]:
    """Communication, computation and both, a row each, without empty messages, of one half."""
    off = cell.latencies * latency_ns
    communication = (np.asarray(cell.communication_ns, dtype=float) - off) / cell.halves
    both = (np.asarray(cell.both_ns, dtype=float) - off) / cell.halves
    return np.stack([communication, np.asarray(cell.computation_ns, dtype=float), both])


def _middle(times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Median of each kind, and how far its times scatter."""
    middle = np.median(times, axis=(0, 2))
    apart = np.abs(times - middle[None, :, None])
    return middle, _MAD * np.median(apart, axis=(0, 2))


Value = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # of columns of three times
Interval = tuple[float, float]


def _told(times: NDArray[np.float64], of: Value, *, noisy: bool, seed: int) -> Ratio:
    middle = np.median(times, axis=(0, 2))
    value = float(of(middle[:, None])[0])
    if len(times) == 1:
        (low, high), (both_low, both_high) = _within_one(times[0], of, seed)
    else:
        middles = np.median(times, axis=2).T
        (low, high), (both_low, both_high) = (
            _around(value, of(middles)),
            _around(float(middle[2]), middles[2]),
        )
    return Ratio(
        communication=float(middle[0]) / 1e9,
        computation=float(middle[1]) / 1e9,
        both=float(middle[2]) / 1e9,
        value=value,
        low=low,
        high=high,
        noisy=noisy,
        both_low=both_low / 1e9,
        both_high=both_high / 1e9,
    )


def _within_one(times: NDArray[np.float64], of: Value, seed: int) -> tuple[Interval, Interval]:
    """Return that of the value and of the time of both: percentiles over whole triples that are
    drawn with replacement."""
    count = times.shape[1]
    which = np.random.default_rng(seed).integers(0, count, (_DRAWS, count))
    middles = np.median(times[:, which], axis=2)
    return _percentiles(of(middles)), _percentiles(middles[2])


def _percentiles(drawn: NDArray[np.float64]) -> Interval:
    low, high = np.quantile(drawn[np.isfinite(drawn)], (0.025, 0.975))
    return float(low), float(high)


def _around(centre: float, own: NDArray[np.float64]) -> Interval:
    """Student's t of the launches' own. Resampling so few launches would give too little: the
    scatter of n drawn ones is too small by a factor of sqrt((n - 1) / n), and quantiles of the
    normal distribution are too near."""
    wide = distributions.student_quantile(len(own) - 1, 0.975)
    half = wide * float(np.std(own, ddof=1)) / math.sqrt(len(own))
    return centre - half, centre + half


def _ratios(middles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return those of columns of three times."""
    communication, computation, both = middles
    shorter = np.minimum(communication, computation)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            shorter > 0, (both - np.maximum(communication, computation)) / shorter, np.nan
        )


def _slowdowns(middles: NDArray[np.float64]) -> NDArray[np.float64]:
    communication, _, both = middles
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(communication > 0, both / communication, np.nan)
