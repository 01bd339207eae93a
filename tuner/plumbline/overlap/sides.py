"""The times of overlap cells of launches, as sides of guidelines: a message beside work
(`overlapped`), the message and then the work (`serialised`), begun and waited for at once
(`nonblocking`), by blocking calls (`blocking`). A side is a benchmark at a size; its variant says
how, and how much work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from plumbline.core.cell import Side
from plumbline.core.plan import OverlapCell
from plumbline.overlap import benches, metric
from plumbline.overlap.metric import latency
from plumbline.verify.overlap import BLOCKING, NONBLOCKING, OVERLAPPED, SERIALISED
from plumbline_db import table_samples
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap
from plumbline_db.records import Case, Medians

Place = tuple[str, int]  # a benchmark as people name it, bytes


class OverlapTimes(NamedTuple):
    """Seconds of one cell in one launch: medians over triples, on the rank that took longest."""

    communication: float
    computation: float
    both: float


Measured = Mapping[tuple[str, int, int], OverlapTimes]  # by benchmark, bytes, nanoseconds of work


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

    def medians(self, launches: Sequence[tuple[int, Measured]]) -> list[Medians]:
        """Seconds of each side that was measured; `launches` by number, as `read` gives them."""
        launches_by_side: dict[Side, tuple[list[int], list[float]]] = {}
        for number, times in launches:
            for side, seconds in self._sides(times).items():
                runs, values = launches_by_side.setdefault(side, ([], []))
                runs.append(number)
                values.append(seconds)
        return [Medians(case_of(side), *values) for side, values in launches_by_side.items()]

    def _amounts(self, bench: str, size: int) -> dict[str, int]:
        """Nanoseconds of work by name; none at all has no name, and is of use where blocking calls
        are others."""
        own = self.own_ns[bench, size]
        if own == self.fixed_ns:
            own += 1  # so that a record tells which one it is
        none = {"": 0} if benches.of(bench).blocking else {}
        return none | {"work=message": own, f"work_us={self.fixed_ns // 1000}": self.fixed_ns}

    def _sides(self, times: Measured) -> dict[Side, float]:
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


def own_ns(launches: Sequence[tuple[int, Measured]], least_ns: int) -> dict[Place, int]:
    """The median over the launches of a pilot of what each message takes, `least_ns` at least."""
    times_by_place: dict[Place, list[float]] = {}
    for _, times in launches:
        for (bench, size, _ns), time in times.items():
            times_by_place.setdefault((bench, size), []).append(time.communication)
    return {
        place: max(least_ns, round(1e9 * float(np.median(seconds))))
        for place, seconds in times_by_place.items()
    }


def read(db: Database, campaign: str, suites: Sequence[str]) -> list[tuple[int, Measured]]:
    """Return that of each finished launch its number and its times. Cells whose data did not come
    as they were sent have none (`require_delivered`)."""
    return [
        (number, _times(records))
        for number, records in table_samples.overlap_records(db, campaign, suites)
    ]


def require_delivered(db: Database, campaign: str, suites: Sequence[str]) -> None:
    """Raises PlumblineError where data did not come as they were sent."""
    for _, records in table_samples.overlap_records(db, campaign, suites):
        metric.require_data(records)


def _times(records: Iterable[object]) -> Measured:
    every_record = list(records)
    empty_ns = latency(every_record)
    times_by_cell: dict[tuple[str, int, int], OverlapTimes] = {}
    for record in every_record:
        if not isinstance(record, Overlap) or not record.delivered:
            continue
        key = (name_of(record), record.bytes, record.work_ns)
        own_times, other_times = _of_rank(record, empty_ns), times_by_cell.get(key)
        times_by_cell[key] = (
            own_times if other_times is None else OverlapTimes(*map(max, own_times, other_times))
        )
    return times_by_cell


def name_of(cell: Overlap) -> str:
    """Return it as people write it."""
    if cell.function:
        return f"{cell.bench}:MPI_I{cell.function.removeprefix('MPI_').lower()}"
    return benches.written(cell.bench, cell.requests, cell.threads)


def case_of(side: Side) -> Case:
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
