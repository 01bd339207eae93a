"""Nothing is believed, or written to, that somebody else has put there."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline_db import lock
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, TryLaterError

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.mark.parametrize("how", ["symlink", "link", "fifo"])
def test_a_planted_lock_file_of_a_database_harms_nothing(path: Path, how: str) -> None:
    precious, lock = path.with_name("precious"), path.with_name("plumbline.db.lock")
    precious.write_text("precious")
    if how == "symlink":
        lock.symlink_to(precious)
    elif how == "link":
        lock.hardlink_to(precious)
    else:
        os.mkfifo(lock)
    with pytest.raises(PlumblineError, match=r"plumbline\.db\.lock (is|belongs)"):
        Database.open(path, write=True)
    assert precious.read_text() == "precious"


@ROOT
def test_a_lock_file_of_somebody_else(path: Path) -> None:
    lock = path.with_name("plumbline.db.lock")
    lock.touch()
    os.chown(lock, 4321, 4321)
    with pytest.raises(PlumblineError, match="belongs to user 4321"):
        Database.open(path, write=True)


def test_what_a_lock_file_says_stays_until_it_is_held(path: Path) -> None:
    lock = path.with_name("plumbline.db.lock")
    text = '{"pid":77,"host":"there","since":"2026-11-24T00:00:00+00:00"}\n'
    lock.write_text(text)
    with lock.open() as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(TryLaterError, match="process 77"):
            Database.open(path, write=True)
        assert lock.read_text() == text


def test_a_folder_of_our_own(tmp_path: Path) -> None:
    top = tmp_path / "top"
    inside = top / "inside"
    lock.require(inside / "file", top)  # what is not there nobody has written
    inside.mkdir(parents=True)
    (inside / "file").touch()
    lock.require(inside / "file", top)


@pytest.mark.parametrize("where", ["top", "top/inside", "top/inside/file"])
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda path: path.chmod(0o777), "can be written to by others"),
        (lambda path: path.chmod(0o775), "can be written to by others"),
        pytest.param(lambda path: os.chown(path, 4321, 4321), "belongs to user 4321", marks=ROOT),
    ],
)
def test_what_is_not_our_own_is_not_believed(
    tmp_path: Path, where: str, change: Callable[[Path], None], found: str
) -> None:
    file = tmp_path / "top" / "inside" / "file"
    file.parent.mkdir(parents=True)
    file.touch()
    change(tmp_path / where)
    with pytest.raises(PlumblineError, match=rf"{where} {found}"):
        lock.require(file, tmp_path / "top")


def test_a_link_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "top" / "inside").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlumblineError, match="inside is a symbolic link"):
        lock.require(tmp_path / "top" / "inside" / "file", tmp_path / "top")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o2775])
def test_above_it_nothing_is_open_to_others(tmp_path: Path, mode: int) -> None:
    """But for places like /tmp, where nobody renames what is not his."""
    shared = tmp_path / "shared"
    (shared / "top").mkdir(parents=True)
    shared.chmod(0o1777)
    lock.require(shared / "top" / "file", shared / "top")
    shared.chmod(mode)
    with pytest.raises(PlumblineError, match="shared can be written to by others"):
        lock.require(shared / "top" / "file", shared / "top")


@ROOT
@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_above_it_nothing_belongs_to_others(tmp_path: Path, mode: int) -> None:
    """They may rename what lies there, also past the sticky bit."""
    above = tmp_path / "above"
    (above / "shared").mkdir(parents=True)
    above.chmod(mode)
    os.chown(above, 4321, 4321)
    with pytest.raises(PlumblineError, match="above belongs to user 4321"):
        lock.require_closed(above / "shared")


def test_a_way_that_others_may_turn_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "way").symlink_to(tmp_path / "mine")
    lock.require_closed(tmp_path / "theirs" / "way")
    (tmp_path / "theirs").chmod(0o775)
    with pytest.raises(PlumblineError, match="theirs can be written to by others"):
        lock.require_closed(tmp_path / "theirs" / "way")


def test_what_is_made_is_closed(tmp_path: Path) -> None:
    """Whatever the user's own mask is."""
    before = os.umask(0o002)
    try:
        lock.make(tmp_path / "one" / "two")
    finally:
        os.umask(before)
    lock.require_closed(tmp_path / "one" / "two")
