"""A day of plumbline watch by an injected clock, on the pretended library: cells are learnt, one of
the library's algorithms becomes slow, it is found, searched, applied and confirmed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from plumbline.daemon.service import Service
from plumbline.launch.starter import Starter
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system import ending
from plumbline.system import paths as where
from plumbline_db import connection, findings, runs, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from tests.faults.scenarios import Scenario
from tests.tuner import killed, planted
from tests.tuner.daemon.watching import START, run_campaign
from tests.tuner.simulated import toolchain

# By then all is done; where a fault has delayed it, later.
LENGTH, MOST = timedelta(hours=16), timedelta(hours=48)
LEARNT = 22  # canaries, from which on an algorithm is slow
LEAST_PAUSE = timedelta(minutes=15)
CONFIGURATION = """\
[canary]
every = "30min"
launches = 1
samples = 1
learning = 20
cells = 8
references = 12
recheck_launches = 8
[neighbour]
load = 1000.0
node_seconds_a_day = 1e6
node_seconds_a_week = 1e7
[apply]
auto = true
scope = "modules"
modules = "{modules}"
"""


class Over(Exception):
    """The day is."""


class Hours:
    """Signals that never come, and a clock that goes on while the daemon waits; it is kept in a
    file, so that the day goes on after a process has ended. A clock of the machine that is put
    forward or back is so here too."""

    def __init__(self, file: Path, is_over: Callable[[timedelta], bool]) -> None:
        """`is_over` is asked at each pause."""
        self._file = file
        self._is_over = is_over
        self._wall = time.time() - time.monotonic()
        self.passed = timedelta(seconds=float(file.read_text()) if file.exists() else 0.0)

    def __call__(self) -> datetime:
        wrong = time.time() - time.monotonic() - self._wall
        return START + self.passed + timedelta(hours=round(wrong / 3600))

    def reload_asked(self) -> bool:
        return False

    def pause(self, seconds: float) -> None:
        if seconds:
            self.passed += max(LEAST_PAUSE, timedelta(seconds=seconds))
        self._file.write_text(str(self.passed.total_seconds()))
        if self._is_over(self.passed):
            raise Over

    @contextmanager
    def heard(self) -> Iterator[None]:
        yield


class Day(Scenario):
    """`finished`: a folder with the database of a campaign that has ended; `more`: of the
    configuration."""

    def __init__(self, folder: Path, finished: Path, more: str = "") -> None:
        super().__init__(folder)
        self._database = folder / "plumbline.db"
        self._file = folder / "watch.toml"
        self._temporary = folder / "tmp"
        self._temporary.mkdir(parents=True)
        folder.chmod(0o755)
        shutil.copy(finished / "plumbline.db", self._database)
        self._file.write_text(CONFIGURATION.format(modules=folder / "modules") + more)
        (folder / "built.so").write_bytes(b"\x7fELF")
        self._slow = False

    def act(self) -> None:
        os.environ["TMPDIR"] = str(self._temporary)
        tempfile.tempdir = None
        where.Layout.preload = lambda *_: self.folder / "built.so"
        hours = Hours(self.folder.with_name(self.folder.name + ".now"), self._is_over)
        self._is_over(hours.passed)
        costs = planted.costs()
        starter = killed.Starter(costs, case_noise=0.01)

        def slow(*_: object) -> float:
            return 3.0 if self._slow else 0.95

        costs.algorithm["MPI_Allreduce", "rabenseifner"] = slow

        def find(
            settings: Settings, prefix: Path | None, beside: Path
        ) -> tuple[Toolchain, Starter]:
            return toolchain(), starter

        def say(text: str) -> None:
            print(hours(), text, flush=True)

        with ending.by_signals():
            try:
                Service(self._database, self._file, say, clock=hours, find=find).run(hours)
            except Over:
                say("the day is over")

    def _is_over(self, passed: timedelta) -> bool:
        try:
            with Database.open(self._database) as db:
                canaries = [one for _, one in watching.canaries(db)]
                searched = [one for _, one in watching.retunings(db)]
        except PlumblineError:  # a fault that came here
            return passed >= MOST
        self._slow = sum(one.outcome == "judged" for one in canaries) >= LEARNT
        done = bool(searched) and all(one.ended for one in searched)
        return passed >= (LENGTH if done else MOST)

    def results(self) -> list[str]:
        """What was decided; of launches and canaries that a fault came between, more are taken."""
        assert connection.check(self._database) == []
        with Database.open(self._database) as db:
            watched = [one.campaign for one in watching.watched(db)]
            kept = [run.id for id in watched for run in runs.listing(db, id)]
            rounds = [one.round for _, one in watching.canaries(db) if one.stage == "canary"]
        assert len(set(kept)) == len(kept)
        assert rounds == list(range(rounds[0], rounds[0] + len(rounds)))
        return self.decided()

    def decided(self) -> list[str]:
        with Database.open(self._database) as db:
            raised = [one for _, one in watching.every(db)]
            retunings = [one for _, one in watching.retunings(db)]
            found = [winner for row in retunings for winner in findings.get_winners(db, row.search)]
        modules = self.folder / "modules"
        return [
            *(f"alarm {one.function} {one.bytes}: {one.state}" for one in raised),
            *(f"retuning: {one.state}, generation {one.generation}" for one in retunings),
            *sorted(map(_choice, found)),
            *sorted(str(path.relative_to(modules)) for path in modules.rglob("*")),
        ]


def _choice(winner: Winner) -> str:
    sizes = f"{winner.bytes_from}-{winner.bytes_to}"
    return f"{winner.function} {sizes}: {winner.variant} {winner.configuration}"


def finished(folder: Path) -> Path:
    """A campaign that has ended, in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "plumbline.db").exists():
        run_campaign(folder)
    return folder
