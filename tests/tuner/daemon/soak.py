"""`make soak`: a week of the daemon in ten minutes (SOAK_SECONDS), beside processes that compute
and somebody who asks it without end. It is killed once, and stopped for some hours. Its memory does
not grow, no process and no file is left, and each canary that was due was taken or is reported."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from plumbline.daemon import configuration
from plumbline_db import connection, watching
from plumbline_db.connection import Database
from tests.exporters.prometheus import free_port
from tests.tuner.daemon import configured
from tests.tuner.daemon.processes import Daemon, spinning
from tests.tuner.daemon.soaked_daemon import FastClock
from tests.tuner.daemon.watching import START

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
WEEK = timedelta(days=7)
SPEED = WEEK.total_seconds() / SECONDS
SPINNING = 2
PATHS = ("/metrics", "/", "/healthz", "/readyz")
# In windows; the first days are those before memory is looked at.
KILLED_AT, STOPPED_AT, STOPPED_FOR = 0.05, 0.19, timedelta(hours=6)
SETTLED = 0.4  # of the week; before that, caches fill
MOST_GROWTH_MIB = 3.0
CANARY = {
    **{"every": "1h", "launches": 1, "launches_max": 1, "samples": 1},
    **{"cells": 8, "references": 12, "recheck_launches": 8},
}
SCHEDULE = {
    "time_zone": "Europe/Vienna",
    "windows": ["Mon-Fri 20:00-08:00", "Sat,Sun"],
    "blackouts": ["2026-11-26"],
}

pytestmark = pytest.mark.timeout(2 * SECONDS + 600)


class Reading(msgspec.Struct, frozen=True):
    """Of the daemon's process; `at`: which part of the week has passed."""

    at: float
    resident_mib: float
    files: int
    threads: int


class Asked(msgspec.Struct):
    answers: int = 0
    failures: int = 0


@contextmanager
def asking(port: int) -> Iterator[Asked]:
    """Somebody who asks for its pages and metrics, four times a second."""
    asked, ended = Asked(), threading.Event()

    def ask() -> None:
        while not ended.wait(0.25):
            for path in PATHS:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as it:
                        it.read()
                    asked.answers += 1
                except (urllib.error.URLError, OSError):
                    asked.failures += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield asked
    finally:
        ended.set()
        thread.join()


class Week(Daemon):
    """A daemon with a fast clock, from the second `zero` of the machine's on."""

    zero: float
    readings: list[Reading]

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "plumbline.db", folder / "watch.toml", log=folder / "log")
        self.temporary.mkdir()
        self.zero, self.readings = time.time(), []

    def _words(self, takes: float, slower: str) -> list[str]:
        words = [str(self.database), str(self.file), str(self.zero), str(SPEED)]
        return ["tests.tuner.daemon.soaked_daemon", *words]

    @property
    def passed(self) -> float:
        return (time.time() - self.zero) / SECONDS

    def watch_until(self, part: float) -> None:
        """Reads what it takes, a few times a day."""
        while self.passed < part:
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            self.readings.append(self.reading())
            time.sleep(SECONDS / 150)

    def reading(self) -> Reading:
        process = Path(f"/proc/{self.process.pid}")
        told = dict(
            line.split(":", 1) for line in (process / "status").read_text().splitlines() if line
        )
        return Reading(
            self.passed,
            int(told["VmRSS"].split()[0]) / 1024,
            len(list((process / "fd").iterdir())),
            int(told["Threads"]),
        )


def due(first: datetime, last: datetime, file: Path) -> int:
    """Moments at which a canary was due, an hour apart from `first` on where a window is open;
    where one opens, the first in it is at its beginning."""
    times = configuration.read(file).schedule.times
    count, moment = 0, times.next_open(first)
    while moment is not None and moment <= last:
        count += 1
        moment = times.next_open(moment + timedelta(hours=1))
    return count


def by_tenth(readings: Sequence[Reading]) -> list[str]:
    """MiB in the middle of each tenth of the week: one step is what a search has loaded, a slope
    is what leaks."""
    tenths: dict[int, list[float]] = {}
    for reading in readings:
        tenths.setdefault(int(10 * reading.at), []).append(reading.resident_mib)
    return [f"{statistics.median(tenths[tenth]):.1f}" for tenth in sorted(tenths)]


def grown(readings: Sequence[Reading]) -> float:
    """MiB, from the first third of them to the last."""
    resident = [reading.resident_mib for reading in readings]
    third = len(resident) // 3
    return statistics.median(resident[-third:]) - statistics.median(resident[:third])


def test_a_week(finished: Path, open_folder: Path) -> None:
    folder, port = open_folder, free_port()
    shutil.copy(finished / "plumbline.db", folder / "plumbline.db")
    week = Week(folder)
    week.file.write_text(
        configured.text(
            folder / "modules",
            serve={"listen": f"127.0.0.1:{port}"},
            canary=CANARY,
            schedule=SCHEDULE,
            backup={"keep": 2},
        )
    )
    environment = {"TMPDIR": str(week.temporary)}
    week.start(**environment)
    with spinning(SPINNING), asking(port) as asked:
        week.watch_until(KILLED_AT)
        week.end(signal.SIGKILL)
        time.sleep(timedelta(hours=5).total_seconds() / SPEED)
        week.start(**environment)
        week.watch_until(STOPPED_AT)
        week.process.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_FOR.total_seconds() / SPEED)
        week.process.send_signal(signal.SIGCONT)
        week.watch_until(1.0)
    ended = FastClock(week.zero, SPEED)()
    week.end(signal.SIGTERM)

    settled = [reading for reading in week.readings if reading.at > SETTLED]
    with Database.open(week.database) as db:
        canaries = [one for _, one in watching.canaries(db) if one.stage == "canary"]
        missed = sum(day.missed for day in watching.days(db))
        retunings = [one for _, one in watching.retunings(db)]
        (watched, *_) = watching.watched(db)
    pending = datetime.fromisoformat(watched.due)
    expected = due(START, min(ended, pending - timedelta(minutes=1)), week.file)
    resident = [reading.resident_mib for reading in settled]
    print(  # pytest -s
        f"\n{SECONDS:.0f} s, {SPEED:.0f} times as fast; {asked.answers} answers, "
        f"{asked.failures} while nobody answered\n"
        f"canaries: {expected} due, {len(canaries)} taken, {missed} reported as missed\n"
        f"resident: {min(resident):.1f} to {max(resident):.1f} MiB, grown {grown(settled):+.1f}\n"
        f"resident by tenth of the week: {' '.join(by_tenth(week.readings))}\n"
        f"open files: {settled[0].files} to {max(reading.files for reading in settled)}; "
        f"threads: {max(reading.threads for reading in settled)}\n"
        f"searches: {[one.state for one in retunings]}; database: "
        f"{week.database.stat().st_size / 2**20:.1f} MiB"
    )
    assert expected == len(canaries) + missed
    assert [canary.round for canary in canaries] == list(range(1, len(canaries) + 1))
    assert [one.state for one in retunings] == ["kept"]
    assert grown(settled) < MOST_GROWTH_MIB
    assert min(reading.files for reading in settled[-10:]) <= min(
        reading.files for reading in settled[:10]
    )
    assert week.own() == [] and list(week.temporary.iterdir()) == []
    assert not [path for path in folder.rglob("*") if "scratch" in path.name]
    assert connection.check(week.database) == []
    backups = list(week.database.with_name("plumbline.db.backups").iterdir())
    assert len(backups) == 2
