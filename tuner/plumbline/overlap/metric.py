"""How much of a message goes on beside computation: the overhead ratio of A. Denis and F. Trahay,
"MPI Overlap: Benchmark and Analysis", ICPP 2016, equation 1, with an interval. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline_db.records import Overlap

_DRAWS = 400
_MAD = 1.4826  # from a median absolute deviation to a standard deviation, of normal values


class Ratio(msgspec.Struct, frozen=True):
    """Seconds of communication alone, computation alone and both, and what both take beyond the
    longer of the two, over the shorter: 0 is perfect overlap, 1 one after the other, more is worse
    than that. `low`, `high`: 95 %, by resampling launches and whole triples. `noisy`: the times of
    the cell scatter by more than the shorter of the two, so that the ratio says nothing."""

    communication: float
    computation: float
    both: float
    value: float
    low: float
    high: float
    noisy: bool


def latency(ns: Sequence[int]) -> float:
    """Nanoseconds that an empty message takes."""
    return float(np.median(ns))


def ratio(launches: Sequence[tuple[Overlap, float]], seed: int = 1) -> Ratio | None:
    """Of one cell, by launch, each with its latency in nanoseconds. None where nothing was timed,
    or there is nothing to overlap."""
    times = _all(launches)
    if times is None:
        return None
    middle, scatter = _middle(times)
    shorter = float(min(middle[0], middle[1]))
    if shorter <= 0:
        return None
    return _told(times, _ratios, float(np.max(scatter)) > shorter, seed)


def slowdown(launches: Sequence[tuple[Overlap, float]], seed: int = 1) -> Ratio | None:
    """The same for `load`: the value is both / communication, the time of a message while threads
    compute over that while they sleep; 1 is undisturbed. `noisy`: the time without them scatters
    by more than itself. None where nothing was timed."""
    times = _all(launches)
    if times is None:
        return None
    middle, scatter = _middle(times)
    if middle[0] <= 0:
        return None
    return _told(times, _slowdowns, bool(scatter[0] > middle[0]), seed)


def _all(launches: Sequence[tuple[Overlap, float]]) -> NDArray[np.float64] | None:
    """By launch, kind of time and triple."""
    found = [_times(cell, empty) for cell, empty in launches if cell.delivered and cell.both_ns]
    if not found:
        return None
    count = min(one.shape[1] for one in found)
    return np.stack([one[:, :count] for one in found])


def _middle(times: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Median of each kind, and how far its times scatter."""
    middle = np.median(times, axis=(0, 2))
    apart = np.abs(times - middle[None, :, None])
    return middle, _MAD * np.median(apart, axis=(0, 2))


def _told(
    times: NDArray[np.float64],
    value: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    noisy: bool,
    seed: int,
) -> Ratio:
    middle = np.median(times, axis=(0, 2))
    drawn = value(_resampled(times, seed))
    low, high = np.quantile(drawn[np.isfinite(drawn)], (0.025, 0.975))
    return Ratio(
        communication=float(middle[0]) / 1e9,
        computation=float(middle[1]) / 1e9,
        both=float(middle[2]) / 1e9,
        value=float(value(middle[:, None])[0]),
        low=float(low),
        high=float(high),
        noisy=noisy,
    )


def _times(cell: Overlap, latency_ns: float) -> NDArray[np.float64]:
    """Communication, computation and both, a row each, without empty messages, of one half."""
    off = cell.latencies * latency_ns
    communication = (np.asarray(cell.communication_ns, dtype=float) - off) / cell.halves
    both = (np.asarray(cell.both_ns, dtype=float) - off) / cell.halves
    return np.stack([communication, np.asarray(cell.computation_ns, dtype=float), both])


def _resampled(times: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Medians of launches that are drawn with replacement, and of triples drawn in each: a column
    a draw."""
    launches, _, count = times.shape
    chance = np.random.default_rng(seed)
    which = chance.integers(0, launches, (_DRAWS, launches, 1))
    triples = chance.integers(0, count, (_DRAWS, launches, count))
    taken = times[which, :, triples]  # draw, launch, triple, kind
    return np.asarray(np.median(taken, axis=(1, 2)).T)


def _ratios(middles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of columns of three times."""
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
