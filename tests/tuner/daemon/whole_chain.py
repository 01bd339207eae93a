"""`make test-daemon`: the whole chain, on a real Open MPI under a real Prometheus. A site's rules
file that slows MPI_Allreduce comes into force while the daemon runs: the alert fires, the cells are
searched, what is found is applied and confirmed, the alert ends. A machine that others keep busy
raises none."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plumbline_db import findings, watching
from plumbline_db.connection import Database
from plumbline_db.watching import Retuning
from tests.exporters.prometheus import Prometheus, free_port, scraping
from tests.tuner.daemon import configured
from tests.tuner.daemon.processes import Daemon, spinning
from tests.tuner.daemon.test_regression_mpi import campaign_of, slow_rules

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(2400)]

MOST_SECONDS = 600.0  # from the file to the end of the alert
BUSY_SECONDS = float(os.environ.get("PLUMBLINE_BUSY_SECONDS", "300"))
BUSY_PROCESSES = 4
LEARNT = f'plumbline_watch_canaries_total{{outcome="judged"}} > {configured.LEARNING}'
REGRESSION = 'ALERTS{alertname="PlumblineRegression", alertstate="firing"}'
OURS = 'ALERTS{alertname!~"PlumblineFullTableOld|PlumblineBackupOld", alertstate="firing"}'


@pytest.fixture
def folder(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of whoever starts ranks, too."""
    for program in ("mpirun", "prometheus"):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} on PATH")
    monkeypatch.setenv("HOME", str(open_folder))
    return open_folder


@contextmanager
def watched(folder: Path) -> Iterator[tuple[Daemon, Prometheus]]:
    """A daemon over a table of two ranks that has learnt its cells, and a Prometheus that asks it
    once a second."""
    with Database.open(folder / "plumbline.db", write=True) as db:
        campaign = campaign_of(db, folder)
    port, file = free_port(), folder / "watch.toml"
    serve = {"listen": f"127.0.0.1:{port}"}
    file.write_text(
        configured.text(folder / "modules", campaign.id, serve=serve, **configured.REAL)
    )
    daemon = Daemon(folder / "plumbline.db", file, real=True, log=folder / "log")
    daemon.start()
    try:
        with scraping(folder, f"127.0.0.1:{port}") as prometheus:
            prometheus.wait("plumbline_watch_running == 1")
            print(f"learnt after {until(prometheus, LEARNT, 600, daemon):.0f} s")  # pytest -s
            assert prometheus.query(OURS) == []
            yield daemon, prometheus
    finally:
        daemon.end()
        print(daemon.log.read_text())


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
        true = [one for _, one in watching.every(db) if one.state != "refuted"]
        return [one for _, one in watching.retunings(db)], {one.function for one in true}


def test_a_busy_machine_raises_no_alert(folder: Path) -> None:
    with watched(folder) as (daemon, prometheus):
        with spinning(BUSY_PROCESSES):
            time.sleep(BUSY_SECONDS)
        window = f"[{BUSY_SECONDS + 30:.0f}s]"
        assert prometheus.query(f"count_over_time({OURS}{window})") == []
        assert told(daemon.database)[0] == []


def test_a_regression_comes_and_goes(folder: Path) -> None:
    with watched(folder) as (daemon, prometheus):
        begun = time.monotonic()
        slow_rules(folder)
        fires = until(prometheus, REGRESSION, MOST_SECONDS, daemon)
        kept = 'plumbline_retunings{state="kept"} > 0'
        applied = fires + until(prometheus, kept, MOST_SECONDS - fires, daemon)
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
        better = findings.get_winners(db, row.search)
        assert {one.function for one in better} == {"MPI_Allreduce"}
        assert watching.campaign(db, row.campaign).generation == 1
