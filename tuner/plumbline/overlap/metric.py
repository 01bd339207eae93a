"""How much of a message goes on beside computation: the overhead ratio of A. Denis and F. Trahay,
"MPI Overlap: Benchmark and Analysis", ICPP 2016, equation 1, with an interval. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline_db.records import Overlap

_DRAWS = 1000
_MAD = 1.4826  # from a median absolute deviation to a standard deviation, of normal values


class Ratio(msgspec.Struct, frozen=True):
    """Seconds of communication alone, computation alone and both, and what both take beyond the
    longer of the two, over the shorter: 0 is perfect overlap, 1 one after the other, more is worse
    than that. `low`, `high`: 95 %, by resampling whole triples. `noisy`: the times of the cell
    scatter by more than the shorter of the two, so that the ratio says nothing."""

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


def ratio(cell: Overlap, latency_ns: float, seed: int = 1) -> Ratio | None:
    """None where nothing was timed, or there is nothing to overlap."""
    if not cell.delivered or not cell.both_ns:
        return None
    off = cell.latencies * latency_ns
    communication = (np.asarray(cell.communication_ns, dtype=float) - off) / cell.halves
    both = (np.asarray(cell.both_ns, dtype=float) - off) / cell.halves
    computation = np.asarray(cell.computation_ns, dtype=float)
    times = np.stack([communication, computation, both])
    middle = np.median(times, axis=1)
    shorter = float(min(middle[0], middle[1]))
    if shorter <= 0:
        return None
    count = times.shape[1]
    drawn = np.random.default_rng(seed).integers(0, count, (_DRAWS, count))
    found = _ratios(np.median(times[:, drawn], axis=2))
    low, high = np.quantile(found[np.isfinite(found)], (0.025, 0.975))
    scatter = _MAD * float(np.max(np.median(np.abs(times - middle[:, None]), axis=1)))
    return Ratio(
        communication=float(middle[0]) / 1e9,
        computation=float(middle[1]) / 1e9,
        both=float(middle[2]) / 1e9,
        value=float(_ratios(middle[:, None])[0]),
        low=float(low),
        high=float(high),
        noisy=scatter > shorter,
    )


def _ratios(middles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of columns of three times."""
    communication, computation, both = middles
    shorter = np.minimum(communication, computation)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            shorter > 0, (both - np.maximum(communication, computation)) / shorter, np.nan
        )
