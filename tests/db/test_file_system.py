"""Network file systems are known by the kernel's list of mounts; a database there has no log."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from plumbline_db import schema, user_files
from plumbline_db.connection import Database, backup
from plumbline_db.errors import PlumblineError
from tests.db import build

MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:45 / /home rw shared:2 master:7 - nfs4 server:/home rw,vers=4.2
41 40 8:2 / /home/local rw - xfs /dev/sdb1 rw
42 22 0:50 / /my\\040data rw - fuse.sshfs me@there: rw
43 22 0:51 / /scratch rw - autofs systemd-1 rw
44 43 0:52 / /scratch rw - lustre mds@tcp:/scratch rw
45 22 0:53 / /image ro - fuse.squashfuse image.sqfs ro
46 22 0:54 / /box rw - overlay overlay rw
47 22 0:55 / /guest rw - 9p host rw,trans=virtio
48 22 0:56 / /given rw - virtiofs host rw
49 22 0:57 / /daos rw - fuse.daos dfuse rw
50 22 0:58 / /quobyte rw - fuse.quobyte quobyte rw
"""


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS)
    monkeypatch.setattr(user_files, "MOUNTS", path)
    return path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x.db", None),
        ("/home/me/x.db", "nfs4"),
        ("/homes/x.db", None),
        ("/home/local/x.db", None),
        ("/my data/x.db", "fuse.sshfs"),
        ("/scratch/x.db", "lustre"),
        ("/image/x.db", None),
        ("/box/x.db", None),
        ("/guest/x.db", "9p"),
        ("/given/x.db", "virtiofs"),
        ("/daos/x.db", "fuse.daos"),
        ("/quobyte/x.db", "fuse.quobyte"),
    ],
)
def test_by_the_mount_that_is_in_force(mounts: Path, path: str, kind: str | None) -> None:
    assert mounts.exists() and user_files.network(Path(path)) == kind


def test_a_kernel_that_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "MOUNTS", tmp_path / "none")
    assert user_files.network(tmp_path) is None


def pretend_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = folder / "mountinfo"
    mounts.write_text(f"{MOUNTS}50 22 0:60 / {folder} rw - nfs server:/x rw\n")
    monkeypatch.setattr(user_files, "MOUNTS", mounts)


def test_a_database_there_has_no_log(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read while it is written."""
    pretend_network(tmp_path, monkeypatch)
    with Database.open(path, write=True) as db:
        build.started(db)
        assert not schema.has_log(path) and not path.with_name(path.name + "-shm").exists()
        with Database.open(path) as reader:
            assert reader.rows("SELECT count(*) FROM campaign") == [(1,)]
            with db.transaction():
                list(db._connection.execute("DELETE FROM campaign"))
                assert reader.rows("SELECT count(*) FROM campaign") == [(1,)]
            assert reader.rows("SELECT count(*) FROM campaign") == [(0,)]
    backup(path, tmp_path / "backup.db")


def test_one_that_was_made_on_a_local_disk_is_refused_there(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup may lie there, and be read and written."""
    with Database.open(path, write=True) as db:
        build.started(db)
    backup(path, tmp_path / "backup.db")
    pretend_network(tmp_path, monkeypatch)
    for write in (True, False):
        with pytest.raises(PlumblineError, match=r"network file system \(nfs\).*db backup"):
            Database.open(path, write=write)
    for write in (False, True):
        with Database.open(tmp_path / "backup.db", write=write) as db:
            assert db.rows("SELECT count(*) FROM campaign") == [(1,)]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO, errno.ENOSYS])
def test_a_lock_that_fails_is_told_as_that(
    path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(PlumblineError, match=f"cannot lock .*{os.strerror(number)}.*--db"):
        Database.open(path, write=True)
