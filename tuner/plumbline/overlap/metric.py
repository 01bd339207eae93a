"""The part of a message that goes on beside computation: the overhead ratio of A. Denis and F.
Trahay, "MPI Overlap: Benchmark and Analysis", ICPP 2016, equation 1, with an interval (pure); and
the times of cells as sides of guidelines, read from the database."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.core.cell import Side
from plumbline.core.plan import OverlapCell
from plumbline.overlap import benches
from plumbline.verify.kinds import BLOCKING, NONBLOCKING, OVERLAPPED, SERIALISED
from plumbline.verify.significance import distributions
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Overlap, OverlapLatency
from plumbline_db.records import Case, Medians


def flaw_of_data(records: Iterable[object]) -> str:
    """Return the flaw of the first cell with one, or an empty text."""
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
    """Return the ratio of one cell, by launch, each with its latency in nanoseconds. None where
    nothing was timed, or in one of them there is nothing to overlap."""
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
    """Return the intervals of the value and of the time of both: percentiles over whole triples
    that are drawn with replacement."""
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
    """Return the ratios of columns of three times."""
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


# The times of overlap cells of launches, as sides of guidelines: a message beside work
# (`overlapped`), the message and then the work (`serialised`), begun and waited for at once
# (`nonblocking`), by blocking calls (`blocking`). A side is a benchmark at a size; its variant says
# how, and how much work.

Place = tuple[str, int]  # a benchmark as people name it, bytes


class OverlapTimes(NamedTuple):
    """Seconds of one cell in one launch: medians over triples, on the rank that took longest."""

    communication: float
    computation: float
    both: float


_Measured = Mapping[tuple[str, int, int], OverlapTimes]  # by benchmark, bytes, nanoseconds of work


class OverlapGrid(msgspec.Struct, frozen=True):
    """The cells of a table. `own_ns`: work that takes as long as the message alone, by place;
    `fixed_ns`: the same everywhere. `limit`: of the shorter of message and work, that much may come
    on top of the longer (1: one after the other)."""

    benches: tuple[str, ...]
    sizes: tuple[int, ...]
    own_ns: Mapping[Place, int]
    fixed_ns: int
    triples: int
    limit: float = 1.0

    def cells(self, sides: Iterable[Side] | None = None) -> tuple[OverlapCell, ...]:
        """Return what a launch measures: everything, or what these sides need."""
        needed_cells = (
            None if sides is None else {(side.function, side.bytes, _work(side)) for side in sides}
        )
        return tuple(
            _cell(bench, size, ns, self.triples)
            for bench in self.benches
            for size in self.sizes
            for work, ns in self._amounts(bench, size).items()
            if needed_cells is None or (bench, size, work) in needed_cells
        )

    def measured(self) -> list[Side]:
        """The sides whose time is T_measured, in the order of the cells; and the blocking calls,
        where they are others."""
        measured_sides = []
        for bench in self.benches:
            for size in self.sizes:
                for work in self._amounts(bench, size):
                    variant = f"{OVERLAPPED}:{work}" if work else NONBLOCKING
                    measured_sides.append(Side(bench, variant, size))
                if benches.of(bench).blocking:
                    measured_sides.append(Side(bench, BLOCKING, size))
        return measured_sides

    def medians(self, launches: Sequence[tuple[int, _Measured]]) -> list[Medians]:
        """Seconds of each side that was measured; `launches` by number, as `read` gives them."""
        launches_by_side: dict[Side, tuple[list[int], list[float]]] = {}
        for number, times in launches:
            for side, seconds in self._sides(times).items():
                runs, values = launches_by_side.setdefault(side, ([], []))
                runs.append(number)
                values.append(seconds)
        return [Medians(_case_of(side), *values) for side, values in launches_by_side.items()]

    def _amounts(self, bench: str, size: int) -> dict[str, int]:
        """Nanoseconds of work by name; none at all has no name, and is of use where blocking calls
        are others."""
        own = self.own_ns[bench, size]
        if own == self.fixed_ns:
            own += 1  # so that a record tells which one it is
        none = {"": 0} if benches.of(bench).blocking else {}
        return none | {"work=message": own, f"work_us={self.fixed_ns // 1000}": self.fixed_ns}

    def _sides(self, times: _Measured) -> dict[Side, float]:
        seconds_by_side = {}
        for (bench, size, ns), time in times.items():
            names = {value: name for name, value in self._amounts(bench, size).items()}
            work = names.get(ns)
            if work is None:
                continue
            if not work:
                seconds_by_side[Side(bench, NONBLOCKING, size)] = time.both
                seconds_by_side[Side(bench, BLOCKING, size)] = time.communication
                continue
            shorter, longer = sorted((time.communication, time.computation))
            limit = "" if self.limit == 1 else f",limit={self.limit:g}"
            seconds_by_side[Side(bench, f"{OVERLAPPED}:{work}", size)] = time.both
            seconds_by_side[Side(bench, f"{SERIALISED}:{work}{limit}", size)] = (
                longer + self.limit * shorter
            )
        return seconds_by_side


def pilot(names: Sequence[str], sizes: Sequence[int], triples: int) -> tuple[OverlapCell, ...]:
    """Messages without work."""
    return tuple(_cell(bench, size, 0, triples) for bench in names for size in sizes)


def own_ns(launches: Sequence[tuple[int, _Measured]], least_ns: int) -> dict[Place, int]:
    """The median over the launches of a pilot of what each message takes, `least_ns` at least."""
    times_by_place: dict[Place, list[float]] = {}
    for _, times in launches:
        for (bench, size, _ns), time in times.items():
            times_by_place.setdefault((bench, size), []).append(time.communication)
    return {
        place: max(least_ns, round(1e9 * float(np.median(seconds))))
        for place, seconds in times_by_place.items()
    }


def read_sides(db: Database, campaign: str, suites: Sequence[str]) -> list[tuple[int, _Measured]]:
    """Return the number and the times of each finished launch. Cells whose data did not arrive as
    sent have no times (`require_delivered`)."""
    return [
        (number, _side_times(records))
        for number, records in table_samples.overlap_records(db, campaign, suites)
    ]


def require_delivered(db: Database, campaign: str, suites: Sequence[str]) -> None:
    """Raises PlumblineError where data did not come as they were sent."""
    for _, records in table_samples.overlap_records(db, campaign, suites):
        require_data(records)


def _side_times(records: Iterable[object]) -> _Measured:
    every_record = list(records)
    empty_ns = latency(every_record)
    times_by_cell: dict[tuple[str, int, int], OverlapTimes] = {}
    for record in every_record:
        if not isinstance(record, Overlap) or not record.delivered:
            continue
        key = (_name_of(record), record.bytes, record.work_ns)
        own_times, other_times = _of_rank(record, empty_ns), times_by_cell.get(key)
        times_by_cell[key] = (
            own_times if other_times is None else OverlapTimes(*map(max, own_times, other_times))
        )
    return times_by_cell


def _name_of(cell: Overlap) -> str:
    """Return the name of a cell's benchmark as people write it."""
    if cell.function:
        return f"{cell.bench}:MPI_I{cell.function.removeprefix('MPI_').lower()}"
    return benches.written(cell.bench, cell.requests, cell.threads)


def _case_of(side: Side) -> Case:
    return Case(side.function, side.variant, {}, "default", side.bytes, "MPI_BYTE", "", 0)


def _of_rank(cell: Overlap, empty_ns: float) -> OverlapTimes:
    off = cell.latencies * empty_ns
    communication, computation, both = (
        float(np.median(ns)) for ns in (cell.communication_ns, cell.computation_ns, cell.both_ns)
    )
    return OverlapTimes(
        (communication - off) / cell.halves / 1e9,
        computation / 1e9,
        (both - off) / cell.halves / 1e9,
    )


def _work(side: Side) -> str:
    """The name of the amount of work."""
    return side.variant.partition(":")[2].partition(",")[0]


def _cell(name: str, size: int, work_ns: int, triples: int) -> OverlapCell:
    bench = benches.of(name)
    return OverlapCell(
        bench.bench,
        size,
        work_ns,
        triples=triples,
        function=bench.function,
        requests=bench.requests,
        threads=bench.threads,
    )
