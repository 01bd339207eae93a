"""Opening, refusing, locking, checking and backing up."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from plumbline_db import campaigns, connection, runs, schema
from plumbline_db.connection import Database, backup, check
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.records import Suite
from tests import without_sync
from tests.db import build


def test_writing_creates_folder_and_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "deep" / "plumbline.db"
    with Database.open(path, write=True) as db:
        assert db.writable
        assert db.path == path
    assert check(path) == []


def test_what_is_in_memory_takes_no_file_and_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Database.in_memory() as one, Database.in_memory() as other:
        build.started(one)
        assert len(one.rows("SELECT id FROM campaign")) == 1
        assert other.rows("SELECT id FROM campaign") == []
    with pytest.raises(AttributeError, match="as it was"), Database.in_memory():
        raise AttributeError("as it was")
    assert list(tmp_path.iterdir()) == []


def test_pragmas_that_durability_rests_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SYNCHRONOUS", without_sync.AS_SHIPPED)
    with Database.open(path, write=True) as db:
        assert db.row("PRAGMA journal_mode") == ("wal",)
        assert db.row("PRAGMA synchronous") == (2,)
        assert db.row("PRAGMA foreign_keys") == (1,)
        assert db.row("PRAGMA application_id") == (schema.APPLICATION_ID,)


def test_reader_sees_what_is_committed_and_nothing_else(db: Database, path: Path) -> None:
    build.started(db)
    with Database.open(path) as reader:
        assert not reader.writable
        launch = build.run()
        with db.transaction():
            runs.suite_number(db, "c-20250301-a", Suite("open"))
            assert reader.rows("SELECT name FROM suite") == []
        assert reader.rows("SELECT name FROM suite") == [("open",)]
        runs.put(db, launch, build.records(launch, [build.Timed()]))
        assert runs.listing(reader, launch.campaign) == [launch]


def test_snapshot_is_of_one_moment(db: Database, path: Path) -> None:
    campaign = build.started(db)
    launch = build.run()
    with Database.open(path) as reader, reader.snapshot():
        assert runs.listing(reader, campaign.id) == []
        runs.put(db, launch, build.records(launch, [build.Timed()]))
        assert runs.listing(reader, campaign.id) == []
    with Database.open(path) as reader:
        assert runs.listing(reader, campaign.id) == [launch]


def test_failed_transaction_leaves_nothing(db: Database) -> None:
    build.started(db)
    with pytest.raises(ZeroDivisionError), db.transaction():
        runs.suite_number(db, "c-20250301-a", Suite("x"))
        raise ZeroDivisionError
    assert db.rows("SELECT * FROM suite") == []
    with db.transaction():  # and the connection is usable
        pass


def test_reader_cannot_write(db: Database, path: Path) -> None:
    with Database.open(path) as reader:
        with pytest.raises(ValueError, match="read-only"):
            build.started(reader)
        with pytest.raises(PlumblineError, match="may be read and written"):
            reader.rows("DELETE FROM machine")


def test_second_writer_is_told_to_come_later(db: Database, path: Path) -> None:
    with pytest.raises(TryLaterError, match=f"process {os.getpid()}.*--db") as caught:
        Database.open(path, write=True)
    assert caught.value.exit_code == 75


def test_writer_after_writer(path: Path) -> None:
    for _ in range(2):
        with Database.open(path, write=True) as db:
            build.started(db)


def test_locked_by_a_foreign_program(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plumbline_db.connection.BUSY_MILLISECONDS", 10)
    with Database.open(path, write=True) as db:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TryLaterError, match="locked by another program"):
            build.started(db)
        other.execute("ROLLBACK")
        other.close()
        build.started(db)


def test_reading_what_is_not_there(path: Path) -> None:
    with pytest.raises(PlumblineError, match="plumbline campaign"):
        Database.open(path)
    assert not path.exists()


def _foreign(path: Path, kind: str) -> None:
    if kind == "text":
        path.write_text("name = value\n" * 20)
    elif kind == "short":
        path.write_bytes(b"x")
    else:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE theirs (x)")
        other.execute("INSERT INTO theirs VALUES (1)")
        other.commit()
        other.close()


@pytest.mark.parametrize("kind", ["text", "short", "sqlite"])
@pytest.mark.parametrize("write", [False, True])
def test_foreign_file_is_refused_untouched(path: Path, kind: str, write: bool) -> None:
    _foreign(path, kind)
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(PlumblineError, match=r"not Plumbline's.*--db"):
        Database.open(path, write=write)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("write", [False, True])
def test_newer_file_is_refused(path: Path, write: bool) -> None:
    with Database.open(path, write=True) as db, db.transaction():
        db.rows("PRAGMA user_version = 999")
    before = path.read_bytes()
    with pytest.raises(PlumblineError, match=r"newer Plumbline \(schema 999\)"):
        Database.open(path, write=write)
    assert path.read_bytes() == before


def test_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    with Database.open(path, write=True) as db:
        build.started(db)
    assert check(path) == []


def test_backup_while_a_writer_writes(db: Database, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    campaign = build.finished(db)
    backup(path, target)
    launch = build.run("later")
    runs.put(db, launch, build.records(launch, [build.Timed()]))
    assert check(target) == []
    with Database.open(target) as copy:
        assert campaigns.all_campaigns(copy) == [campaign]
        assert len(runs.listing(copy, campaign.id)) == 3
    backup(path, target)
    with Database.open(target) as copy:
        assert len(runs.listing(copy, campaign.id)) == 4
    assert sorted(p.name for p in tmp_path.iterdir() if "backup" in p.name) == [
        "backup.db",
        "plumbline.db.backup",
    ]


def test_backup_overwrites_nothing_foreign(db: Database, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("precious" * 100)
    with pytest.raises(PlumblineError, match="not Plumbline's"):
        backup(path, target)
    assert target.read_text() == "precious" * 100
    with pytest.raises(PlumblineError, match="is the database itself"):
        backup(path, path)
    with pytest.raises(PlumblineError, match="no/such/folder"):
        backup(path, tmp_path / "no/such/folder/backup.db")


def _as_another_user(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run code as a user who may read the folder and not write it (as root: as nobody)."""
    drop = "import os\nif os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    prologue = (
        "import sys; from pathlib import Path\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "from plumbline_db import campaigns, schema\n"
        "from plumbline_db.connection import Database\n"
        "schema.text()\n"  # read while the checkout is readable
        f"path = Path({str(path)!r})\n"
    )
    return subprocess.run(
        [sys.executable, "-c", prologue + drop + code], capture_output=True, text=True, timeout=60
    )


@pytest.fixture
def unwritable(open_folder: Path) -> Iterator[Path]:
    path = open_folder / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.started(db)
    open_folder.chmod(0o555)
    for file in open_folder.iterdir():
        file.chmod(0o444)
    yield path
    open_folder.chmod(0o755)


def test_reading_without_write_permission(unwritable: Path) -> None:
    done = _as_another_user("print(campaigns.get(Database.open(path), None).id)", unwritable)
    assert done.stdout.strip() == build.CAMPAIGN.id, done.stderr


def test_writing_without_permission_is_refused_with_a_remedy(unwritable: Path) -> None:
    done = _as_another_user("Database.open(path, write=True)", unwritable)
    assert "PlumblineError: cannot write" in done.stderr
    assert "ask the owner" in done.stderr and "--db" in done.stderr


def test_creating_without_permission_is_refused_with_a_remedy(unwritable: Path) -> None:
    other = unwritable.parent / "sub" / "other.db"
    done = _as_another_user("Database.open(path, write=True)", other)
    assert "PlumblineError: cannot create the folder" in done.stderr


def test_file_that_may_not_be_written(unwritable: Path) -> None:
    unwritable.parent.chmod(0o777)
    unwritable.with_name("plumbline.db.lock").chmod(0o666)
    done = _as_another_user("Database.open(path, write=True)", unwritable)
    assert "PlumblineError: " in done.stderr and "--db" in done.stderr
