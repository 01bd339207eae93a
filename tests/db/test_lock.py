"""One writer and one daemon a database; the second one hears who the first is."""

from __future__ import annotations

import errno
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline_db import lock
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.lock import FileLock

TO_WRITE = (lock.to_write, lock.beside)
TO_WATCH = (lock.to_watch, lock.watch_beside)
both = pytest.mark.parametrize(("take", "beside"), [TO_WRITE, TO_WATCH], ids=["write", "watch"])
Take = Callable[[Path], FileLock]
Beside = Callable[[Path], Path]


@both
def test_the_second_hears_who_holds_it(take: Take, beside: Beside, tmp_path: Path) -> None:
    database = tmp_path / "folder" / "plumbline.db"
    held = take(database)
    said = f"by process {os.getpid()} on {socket.gethostname()}, since 20"
    with pytest.raises(TryLaterError, match=re.escape(said)) as caught:
        take(database)
    assert caught.value.exit_code == 75
    held.release()
    take(database).release()


def test_who_watches_is_known(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    assert lock.watcher(database) is None
    held, writer = lock.to_watch(database), lock.to_write(database)
    found = lock.watcher(database)
    assert found is not None
    assert (found.pid, found.host) == (os.getpid(), socket.gethostname())
    held.release()
    assert lock.watcher(database) is None
    writer.release()


def test_which_campaign_a_writer_measures(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    assert lock.writer(database) is None
    held = lock.to_write(database)
    held.measures("c-1")
    found = lock.writer(database)
    assert found is not None and (found.pid, found.campaign) == (os.getpid(), "c-1")
    held.release()
    assert lock.writer(database) is None
    lock.to_write(database).release()  # whoever asked keeps nobody from writing


@both
def test_it_ends_with_its_process(take: Take, beside: Beside, tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    program = (
        "import os, sys; from pathlib import Path; from plumbline_db import lock; "
        f"lock.{take.__name__}(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program, str(database)], env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == -9
    assert beside(database).exists() and lock.watcher(database) is None
    take(database).release()


@both
def test_a_link_is_no_lock(take: Take, beside: Beside, tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    beside(database).symlink_to(tmp_path / "other")
    with pytest.raises(PlumblineError, match="symbolic link"):
        take(database)
    assert lock.watcher(database) is None


def test_what_others_have_written_into_it_does_no_harm(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    lock.watch_beside(database).write_text('{"pid": "x", "evil": 1}' * 1000)
    held = lock.to_watch(database)
    found = lock.watcher(database)
    assert found is not None and found.pid == os.getpid()
    held.release()


@both
def test_a_full_disk_keeps_nobody_from_it(
    take: Take, beside: Beside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    held = take(tmp_path / "plumbline.db")
    with pytest.raises(TryLaterError, match="by another process"):
        take(tmp_path / "plumbline.db")
    held.release()
