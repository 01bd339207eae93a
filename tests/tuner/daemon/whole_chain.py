"""`make test-daemon`: the whole chain, on a real Open MPI under a real Prometheus. A site's rules
file that slows MPI_Allreduce comes into force while the daemon runs: the alert fires, the cells are
searched, what is found is applied and confirmed, the alert ends. A machine that others keep busy
raises none."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plumbline_db import alarms, watching, winners
from plumbline_db.connection import Database
from plumbline_db.watch_records import Retuning
from tests.exporters.prometheus import Prometheus, free_port, scraping
from tests.tuner.daemon.processes import Daemon
from tests.tuner.daemon.test_regression_mpi import SLOW, campaign_of

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(2400)]

MOST_SECONDS = 600.0  # from the file to the end of the alert
BUSY_SECONDS = float(os.environ.get("PLUMBLINE_BUSY_SECONDS", "300"))
BUSY_PROCESSES = 4
LEARNING = 20
CONFIGURATION = """\
campaign = "{campaign}"
[serve]
listen = "127.0.0.1:{port}"
[canary]
every = "1s"
launches = 1
learning = 20
cells = 4
references = 12
[neighbour]
load = 1000.0
node_seconds_a_day = 1e6
node_seconds_a_week = 1e7
[search]
budget_seconds = 60.0
[apply]
auto = true
scope = "modules"
modules = "{folder}/modules"
"""
REGRESSION = 'ALERTS{alertname="PlumblineRegression", alertstate="firing"}'
OURS = 'ALERTS{alertname!~"PlumblineFullTableOld|PlumblineBackupOld", alertstate="firing"}'


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Open to others, and the home of whoever starts ranks."""
    for program in ("mpirun", "prometheus"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on PATH")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as made:
        Path(made).chmod(0o755)
        monkeypatch.setenv("HOME", made)
        yield Path(made)


@contextmanager
def watched(folder: Path) -> Iterator[tuple[Daemon, Prometheus]]:
    """A daemon over a table of two ranks, and a Prometheus that asks it once a second."""
    with Database.open(folder / "plumbline.db", write=True) as db:
        campaign = campaign_of(db, folder)
    port, file = free_port(), folder / "watch.toml"
    file.write_text(CONFIGURATION.format(campaign=campaign.id, port=port, folder=folder))
    daemon = Daemon(folder / "plumbline.db", file, real=True, log=folder / "log")
    daemon.start()
    try:
        with scraping(folder, f"127.0.0.1:{port}") as prometheus:
            prometheus.wait("plumbline_watch_running == 1")
            yield daemon, prometheus
    finally:
        daemon.end()


def spin() -> None:
    while True:
        pass


@contextmanager
def busy() -> Iterator[None]:
    others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(BUSY_PROCESSES)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def until(prometheus: Prometheus, expression: str, seconds: float, daemon: Daemon) -> float:
    """Seconds until it has a result."""
    begun = time.monotonic()
    while not prometheus.query(expression):
        assert daemon.process.poll() is None, daemon.log.read_text()
        assert time.monotonic() < begun + seconds, (expression, daemon.log.read_text())
        time.sleep(0.5)
    return time.monotonic() - begun


def told(database: Path) -> tuple[list[Retuning], set[str]]:
    """What was searched, and functions of alarms that were true."""
    with Database.open(database) as db:
        true = [one for _, one in alarms.every(db) if one.state != "refuted"]
        return [one for _, one in alarms.retunings(db)], {one.function for one in true}


def test_a_regression_comes_and_goes_and_a_busy_machine_is_none(folder: Path) -> None:
    with watched(folder) as (daemon, prometheus):
        learnt = f"sum(plumbline_watch_canaries_total) > {LEARNING}"
        print(f"learnt after {until(prometheus, learnt, 600, daemon):.0f} s")  # pytest -s
        assert prometheus.query(OURS) == []

        with busy():
            time.sleep(BUSY_SECONDS)
        window = f"[{BUSY_SECONDS + 30:.0f}s]"
        assert prometheus.query(f"count_over_time({OURS}{window})") == []
        assert told(daemon.database)[0] == []

        begun = time.monotonic()
        (folder / "slow.rules").write_text(SLOW)
        (folder / ".openmpi").mkdir()
        (folder / ".openmpi" / "mca-params.conf").write_text(
            "coll_tuned_use_dynamic_rules = 1\n"
            f"coll_tuned_dynamic_rules_filename = {folder}/slow.rules\n"
        )
        fires = until(prometheus, REGRESSION, MOST_SECONDS, daemon)
        kept = 'plumbline_retunings{state="kept"} > 0'
        left = MOST_SECONDS - fires
        applied = fires + until(prometheus, kept, left, daemon)
        until(prometheus, f"absent({REGRESSION})", 30, daemon)
        seconds = time.monotonic() - begun
        print(f"alert after {fires:.0f} s, kept after {applied:.0f} s, over after {seconds:.0f} s")
        assert seconds < MOST_SECONDS

    rows, functions = told(daemon.database)
    assert len(rows) == 1, rows
    (row,) = rows
    assert functions == {"MPI_Allreduce"}
    assert (row.state, row.generation) == ("kept", 1), row
    with daemon.open() as db:
        better = winners.get(db, row.search)
        assert {one.function for one in better} == {"MPI_Allreduce"}
        assert watching.campaign(db, row.campaign).generation == 1
