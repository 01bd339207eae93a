"""One daemon a database; the second one hears who it is."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.daemon import lock
from plumbline.daemon.lock import WatchLock
from plumbline_db.errors import PlumblineError, TryLaterError

SINCE = "2026-11-24T12:00:00+00:00"


def test_the_second_hears_who_holds_it(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    assert lock.holder(database) is None
    held = WatchLock(database, SINCE)
    said = f"by process {os.getpid()} on {socket.gethostname()}, since {SINCE}"
    with pytest.raises(TryLaterError, match=re.escape(said)) as caught:
        WatchLock(database, "later")
    assert caught.value.exit_code == 75
    assert lock.holder(database) == lock.Holder(os.getpid(), socket.gethostname(), SINCE)
    held.release()
    assert lock.holder(database) is None
    WatchLock(database, "later").release()


def test_it_ends_with_its_process(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    program = (
        "import os, sys; from pathlib import Path; from plumbline.daemon.lock import WatchLock; "
        "WatchLock(Path(sys.argv[1]), 'x'); os.kill(os.getpid(), 9)"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program, str(database)], env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == -9
    assert lock.beside(database).exists() and lock.holder(database) is None
    WatchLock(database, "y").release()


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    lock.beside(database).symlink_to(tmp_path / "other")
    with pytest.raises(PlumblineError, match="symbolic link"):
        WatchLock(database, SINCE)
    assert lock.holder(database) is None


def test_what_others_have_written_into_it_does_no_harm(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    lock.beside(database).write_text('{"pid": "x", "evil": 1}' * 1000)
    held = WatchLock(database, SINCE)
    assert lock.holder(database).pid == os.getpid()
    held.release()
