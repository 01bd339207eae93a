"""The daemon as a process: signals, a configuration that is read again, kill -9, and what systemd
hears."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from plumbline_db import lock, watching
from plumbline_db.connection import Database
from tests.tuner.daemon.lives import Life
from tests.tuner.daemon.processes import PATIENCE_SECONDS, Daemon


def test_it_watches_and_says_how_it_stands(daemon: Daemon) -> None:
    daemon.start()
    daemon.until("canary 2 judged")
    assert lock.watcher(daemon.database).pid == daemon.process.pid
    with daemon.open() as db:
        watch = watching.get(db)
    assert (watch.state, watch.pid) == ("running", daemon.process.pid)
    assert watch.file == str(daemon.file) and watch.stepped and not watch.error
    assert daemon.end() == 0 and "stopped" in daemon.said[-1]
    with daemon.open() as db:
        assert watching.get(db).state == "stopped"
    assert lock.watcher(daemon.database) is None


def test_sigterm_ends_a_launch_that_is_under_way(daemon: Daemon) -> None:
    daemon.start(takes=PATIENCE_SECONDS)
    daemon.until("watching")
    time.sleep(0.5)
    assert daemon.end() == 0
    with daemon.open() as db:
        assert watching.get(db).state == "stopped"


def test_sighup_reads_the_configuration_again(daemon: Daemon) -> None:
    daemon.start()
    daemon.until("canary 1 judged")
    good = daemon.file.read_text()
    daemon.file.write_text(good.replace("launches = 2", "launches = 0"))
    daemon.process.send_signal(signal.SIGHUP)
    assert "launches" in daemon.until("the previous configuration stays active")
    daemon.until("judged")
    with daemon.open() as db:
        watch = watching.get(db)
    assert "`int` >= 1" in watch.refused and watch.refused_at
    assert '"launches":2' in watch.configuration
    daemon.file.write_text(good.replace("launches = 2", "launches = 3"))
    daemon.process.send_signal(signal.SIGHUP)
    daemon.until("was read again")
    daemon.until("judged")
    with daemon.open() as db:
        assert watching.get(db).refused == ""
        assert watching.canaries(db)[-1][1].launches == 3
    assert daemon.end() == 0


def test_a_second_one_hears_of_the_first(daemon: Daemon) -> None:
    daemon.start()
    daemon.until("watching")
    second = Daemon(daemon.database, daemon.file)
    second.start()
    assert f"by process {daemon.process.pid}" in second.until("is watched already: by process")
    assert second.process.wait(PATIENCE_SECONDS) != 0
    second.process.stdout.close()
    assert daemon.end() == 0


def test_it_waits_while_somebody_else_writes(daemon: Daemon) -> None:
    with Database.open(daemon.database, write=True):
        daemon.start()
        assert f"process {os.getpid()}" in daemon.until("is being written by")
    assert daemon.end() == 0


def test_another_user_starts_it(daemon: Daemon) -> None:
    """As the unit does: with no rights, and a folder of its own."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    readable = subprocess.run([*nobody, sys.executable, "-c", ""], capture_output=True)
    if os.geteuid() or readable.returncode:
        pytest.skip("no other user can start Python here")
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        for path in (daemon.database, daemon.file):
            shutil.copy(path, folder)
        for path in (Path(folder), *Path(folder).iterdir()):
            os.chown(path, 65534, 65534)
        theirs = Daemon(Path(folder) / daemon.database.name, Path(folder) / daemon.file.name)
        theirs.start(beneath=nobody, HOME=folder, PYTHONDONTWRITEBYTECODE="1")
        theirs.until("judged")
        assert theirs.end() == 0
        assert lock.watch_beside(theirs.database).stat().st_uid == 65534


@pytest.mark.alone  # `make test-kills` has more of it
@pytest.mark.slow
def test_kill_9_again_and_again(daemon: Daemon) -> None:
    """A daemon that learns, finds a change, searches and applies: `make test-kills` has more."""
    life = Life(daemon, random.Random(19), (1.0, 8.0), most=3)
    row = life.to_its_end()
    assert row.state == "kept", (row, daemon.said[-20:])
