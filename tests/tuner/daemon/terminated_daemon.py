"""`make test-daemon`: SIGTERM while ranks of a real Open MPI run. The daemon is gone within five
seconds, its ranks too, and what was stored is there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline_db import runs, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from tests.tuner.daemon.processes import PATIENCE_SECONDS, Daemon

pytestmark = [pytest.mark.mpi, pytest.mark.timeout(300)]

MOST_SECONDS = 5.0
CAMPAIGN = """\
nprocs = 2
sizes = [1024, 65536]
guidelines = ["GL12"]
launches = 40
launches_max = 40
"""
CONFIGURATION = """\
campaign_file = "campaign.toml"
[search]
whole = true
[neighbour]
load = 1000.0
[backup]
keep = 0
"""


@pytest.fixture
def daemon(tmp_path: Path, mpirun: None) -> Iterator[Daemon]:
    """It measures its first table itself, so that ranks run at once."""
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    file = tmp_path / "watch.toml"
    file.write_text(CONFIGURATION)
    found = Daemon(tmp_path / "plumbline.db", file, real=True)
    found.temporary.mkdir()
    yield found
    if found.process is not None and found.process.poll() is None:
        found.process.kill()
        found.process.communicate()


def ranks(daemon: Daemon) -> list[int]:
    found = []
    for pid in daemon.own():
        try:
            found += [pid] if Path(f"/proc/{pid}/comm").read_text() == "probe\n" else []
        except OSError:
            continue
    return found


def until_ranks_run(daemon: Daemon, stored: int) -> list[int]:
    """Two of them, after so many launches more than there were."""
    before, end = launches(daemon.database), time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        running = ranks(daemon)
        if len(running) >= 2 and launches(daemon.database) >= before + stored:
            return running
        assert daemon.process.poll() is None
        time.sleep(0.02)
    raise AssertionError("no ranks")


def launches(database: Path) -> int:
    try:
        with Database.open(database) as db:
            row = db.row("SELECT id FROM campaign")
            return len(runs.listing(db, row[0])) if row else 0
    except PlumblineError:
        return 0


@pytest.mark.parametrize("hang", [False, True], ids=["ranks that run", "ranks that hang"])
def test_it_is_gone_within_five_seconds(daemon: Daemon, hang: bool) -> None:
    for _ in range(2):
        before = launches(daemon.database)
        daemon.start(TMPDIR=str(daemon.temporary))
        for pid in until_ranks_run(daemon, stored=2):
            if hang:
                os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        assert daemon.end() == 0
        ended = time.monotonic() - begun
        # One process looks after ranks, and ends after them.
        while daemon.own() and time.monotonic() < begun + MOST_SECONDS:
            time.sleep(0.02)
        print(f"{ended:.2f} s, {time.monotonic() - begun:.2f} s")  # pytest -s
        assert daemon.own() == []
        assert ended < MOST_SECONDS
        assert "stopped; what was measured is kept" in daemon.said[-1]
        assert launches(daemon.database) >= before + 2
        assert list(daemon.temporary.iterdir()) == []
    with daemon.open() as db:
        assert watching.get(db).state == "stopped"
