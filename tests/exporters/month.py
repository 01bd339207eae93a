"""A month of a made-up installation, scraped every six hours: what the pictures of
docs/monitoring.md are drawn from. Times are simulated, the collectors are those of the product."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import msgspec
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

from plumbline_db import campaigns, watching
from plumbline_db.connection import Database, backup
from plumbline_db.records import Verdict
from plumbline_db.watching import CellAlarm, WatchDay
from plumbline_exporters.metrics import DatabaseCollector
from plumbline_exporters.metrics import scrape as scrape_room
from tests.db import build
from tests.exporters import installation
from tests.exporters.installation import DAY, HOLDS, text

STEP = DAY / 4
DAYS = 30


# Watched cells of each role, from the second day on.
CELLS = {"winner": 6, "violation": 4, "application": 2, "reference": 12}


class Timed(CollectorRegistry):
    """Gives what was collected at several times as one exposition, each sample with its time. What
    is collected stays in `file`, not in this process, whose memory is one of the panels."""

    def __init__(self, file: Path) -> None:
        super().__init__(auto_describe=False)
        self._file = file

    def add(self, found: Iterator[Metric], at: float) -> None:
        with self._file.open("ab") as file:
            for metric in found:
                metric.samples = [sample._replace(timestamp=at) for sample in metric.samples]
                pickle.dump(metric, file)

    def collect(self) -> Iterator[Metric]:
        """The samples of a series stand together."""
        families: dict[str, Metric] = {}
        for metric in self._kept():
            families.setdefault(metric.name, metric)
            if families[metric.name] is not metric:
                families[metric.name].samples += metric.samples
        for metric in families.values():
            metric.samples.sort(key=lambda sample: sorted(sample.labels.items()))
            yield metric

    def _kept(self) -> Iterator[Metric]:
        with self._file.open("rb") as file:
            while file.peek(1):
                yield pickle.load(file)


def exposition(folder: Path, end: datetime.datetime) -> bytes:
    """In OpenMetrics, until `end`."""
    path, told = folder / "plumbline.db", Timed(folder / "collected")
    start = end - DAYS * DAY
    for number in range(DAYS * 4 + 1):
        now = start + number * STEP
        with Database.open(path, write=True) as db:
            _events(db, number / 4, now)
        if number % 4 == 0:
            backup(path, folder / "backup.db")
        with mock.patch.object(scrape_room, "datetime", mock.Mock(now=lambda _, at=now: at)):
            told.add(DatabaseCollector(path).collect(), now.timestamp())
            told.add(ProcessCollector(registry=None).collect(), now.timestamp())
    return generate_latest(told)


def _table(violated: dict[str, int]) -> list[Verdict]:
    """Eight sizes of each guideline, of which the first so many are violated."""
    return [
        build.verdict(
            "before", guideline=guideline, bytes=8**size, other_bytes=8**size,
            **({"ratio": 1.2 + 0.1 * size} if size < count else HOLDS),
        )
        for guideline, count in violated.items()
        for size in range(8)
    ]  # fmt: skip


CAMPAIGNS = {
    0.0: {"GL1": 3, "GL8": 2, "GL12": 5, "GL14": 1},
    10.0: {"GL1": 3, "GL8": 1, "GL12": 4, "GL14": 1},
    22.0: {"GL1": 2, "GL8": 3, "GL12": 4, "GL14": 1},
}


def _events(db: Database, day: float, now: datetime.datetime) -> None:
    if day in CAMPAIGNS:
        one = installation.campaign(db, f"c-{day:.0f}", now)
        installation.tables(db, one, _table(CAMPAIGNS[day]))
    if day in (2.0, 18.0):
        tuned = {"settings": '{"command":"overlap tune"}'}
        one = installation.campaign(db, f"o-{day:.0f}", now, **tuned)
        kinds = ["violated" if size > 2 + day / 6 else "holds" for size in range(8)]
        rows = [installation.overlap(kind, bytes=8**n) for n, kind in enumerate(kinds)]
        installation.tables(db, one, rows)
    if day == 29.5:
        wide = {"nprocs": 8, "ppn": 8, "state": "running", "finished": ""}
        installation.campaign(db, "c-30", now, **wide)
    if day == 1.0:
        installation.watch(db, campaigns.get(db, "c-0"), now)
        _watched(db)
    if day > 1:
        _watching(db, day, now)


def _watched(db: Database) -> None:
    """As many cells of each role as one is."""
    (watched,) = watching.watched(db)
    known = watching.cells(db, watched.campaign)
    cells = [
        msgspec.structs.replace(cell, bytes=cell.bytes + 4096 * number)
        for cell in known
        for number in range(CELLS[cell.role])
    ]
    with db.transaction():
        watching.put_cells(db, cells)


def _watching(db: Database, day: float, now: datetime.datetime) -> None:
    known = watching.get(db)
    assert known is not None
    busy = day % 7 > 5
    watching.put(
        db,
        msgspec.structs.replace(
            known, stepped=text(now), next_canary=text(now + DAY / 24),
            waits_for="a blackout" if busy else "",
        ),
    )  # fmt: skip
    date = now.date().isoformat()
    watching.add(db, WatchDay(date, 900.0, canaries=2 if busy else 6, busy=4 if busy else 0))
    (watched,) = watching.watched(db)
    slower = 1.18 if 14 <= day < 16 else 1 + 0.03 * ((7 * day) % 1)
    cells = [
        msgspec.structs.replace(
            cell, ratio=1.0 if cell.role == "reference" else slower, measured=text(now)
        )
        for cell in watching.cells(db, watched.campaign)
    ]
    with db.transaction():
        watching.put_cells(db, cells)
        for number, alarm in watching.every(db, watched.campaign):
            if alarm.is_open and day >= 2:
                _go_on(db, number, alarm, now)
        if day in (14, 29.75):
            watching.raised(db, _alarm(watched.campaign, now))


def _alarm(campaign: str, now: datetime.datetime) -> CellAlarm:
    return CellAlarm(
        campaign, "MPI_Bcast", "default", 64, "slower", text(now), 1, 4, 1.18, 1.2, text(now)
    )


def _go_on(db: Database, number: int, alarm: CellAlarm, now: datetime.datetime) -> None:
    """Raised, confirmed, searched, removed: six hours each."""
    states = {"raised": "confirmed", "confirmed": "searching", "searching": "removed"}
    state = states[alarm.state]
    ended = text(now) if state == "removed" else ""
    watching.renew_alarms(db, number, msgspec.structs.replace(alarm, state=state, ended=ended))
