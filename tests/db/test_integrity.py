"""Whatever corrupts a database is found, told in one message, and undone with the newest backup."""

from __future__ import annotations

import datetime
import signal
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from plumbline_db import backups, launch_records, layout, runs, scratch, transfer
from plumbline_db.backups import DamagedError
from plumbline_db.connection import Database, backup, check
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.schema import OtherSchemaError
from tests.db import build, damage

NOW = datetime.datetime(2026, 11, 24, 12, tzinfo=datetime.UTC)


@pytest.fixture
def whole(path: Path) -> bytes:
    """The content of a database with a campaign, and the writer has left."""
    with Database.open(path, write=True) as db:
        build.finished(db)
        launch = build.run("long")
        cases = [build.Timed(bytes=size) for size in range(6)]
        runs.put(db, launch, build.records(launch, cases, blocks=2, reps=1500))
    assert check(path) == []
    return path.read_bytes()


@pytest.mark.parametrize("kind", damage.KINDS)
def test_damage_is_found(path: Path, whole: bytes, kind: str) -> None:
    for seed in range(12):
        path.write_bytes(damage.corrupt(whole, kind, seed))
        try:
            problems = check(path)
        except PlumblineError as error:
            assert "no backup of it is known" in str(error), (seed, error)
        else:
            assert problems and len(problems) < 30, seed


def test_every_page_of_zeros_is_found(path: Path, whole: bytes) -> None:
    """The checksum of zeros is zero, and the last page of a long row may be anything."""
    for at in range(0, len(whole), 4096):
        path.write_bytes(whole[:at] + bytes(4096) + whole[at + 4096 :])
        try:
            assert check(path), at
        except PlumblineError as error:
            assert "damaged" in str(error)


def test_what_another_program_writes_counts_as_damage(path: Path, whole: bytes) -> None:
    assert whole
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT count(*) FROM run").fetchone() == (4,)  # it may read
        other.execute("UPDATE suite SET name = 'mine' || number")
    other.close()
    with pytest.raises(DamagedError), Database.open(path) as db:
        runs.listing(db, build.CAMPAIGN.id)
    assert check(path)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE run SET header = x'7b'", "launches cannot be read: not compressed by zlib"),
        ("UPDATE run SET argv = '[1]'", "launches cannot be read: Expected `str`"),
        ("UPDATE run SET records = x'0102'", "launches cannot be read: not compressed by zlib"),
        (
            f"UPDATE run SET records = x'{zlib.compress(b'{}').hex()}'",
            "launches cannot be read: Object missing",
        ),
        ("UPDATE cell_time SET median_ns = 1", "are not of its samples"),
        ("UPDATE winner SET removes = '{}'", "winners cannot be read: Expected `array`"),
        ("UPDATE verdict SET uses = '[{}]'", "verdicts cannot be read"),
        ("UPDATE campaign SET settings = '['", "settings cannot be read"),
        ("UPDATE coverage SET stages = '['", "what is known of places cannot be read"),
        ("UPDATE configuration SET knobs = '7' WHERE knobs <> '{}'", "winners cannot be read"),
        ("DELETE FROM machine", "refers to a missing row of machine"),
        ("DROP TABLE hockney", "table hockney is missing"),
        ("CREATE TABLE more (x)", "table more is not part of this schema"),
        ("ALTER TABLE hockney ADD COLUMN more TEXT", "table hockney differs from the schema"),
    ],
)
def test_rows_that_cannot_be_read_as_what_they_are(
    path: Path, whole: bytes, sql: str, problem: str
) -> None:
    assert whole
    with Database.open(path, write=True) as db:
        db.rows("PRAGMA foreign_keys = 0")
        with db.transaction():
            db.rows(sql)
    problems = check(path)
    assert any(problem in one for one in problems), problems
    of_schema = problem.startswith("table ")
    raised, text = (
        (OtherSchemaError, r"made by an older Plumbline \(schema 4.*--db")
        if of_schema
        else (DamagedError, "no backup of it is known")
    )
    with pytest.raises(raised, match=text), Database.open(path) as db:
        raise ValueError("what a reader would say")


def test_a_bug_stays_a_bug(path: Path, whole: bytes) -> None:
    assert whole
    with pytest.raises(ValueError, match="mine"), Database.open(path) as db:
        assert db
        raise ValueError("mine")


def test_a_note_that_a_killed_process_has_left_half_goes(path: Path, tmp_path: Path) -> None:
    """It lies in a folder that the next one clears."""
    kill = "import os, signal; from pathlib import Path; from plumbline_db import backups; "
    kill += "Path.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
    kill += f"backups.keep(Path({str(path)!r}), Path('a'))"
    done = subprocess.run([sys.executable, "-c", kill], check=False)
    assert done.returncode == -signal.SIGKILL and list(tmp_path.iterdir())
    scratch._cleared.clear()
    backups.keep(path, tmp_path / "b")
    assert [one.name for one in tmp_path.iterdir()] == [f"{path.name}.backup"]


def test_the_way_back_names_the_newest_backup(path: Path, whole: bytes, tmp_path: Path) -> None:
    for name in ("first.db", "second.db"):
        backup(path, tmp_path / name)
    assert backups.newest_backup(path) == tmp_path / "second.db"
    assert sorted(one.name for one in tmp_path.iterdir() if "part" in one.name) == []
    path.write_bytes(whole[:5000])
    with pytest.raises(DamagedError) as caught:
        check(path)
    text = str(caught.value)
    assert f"newest backup is {tmp_path / 'second.db'}" in text
    assert f"`plumbline db restore --db {path}`" in text
    restored = transfer.restore(path, NOW)
    assert (restored.backup, restored.passed_over) == (tmp_path / "second.db", [])
    assert check(path) == []
    with pytest.raises(PlumblineError, match="is whole: nothing is restored"):
        transfer.restore(path, NOW)
    (tmp_path / "second.db").unlink()
    path.write_bytes(b"")  # not a new one
    assert "no database at" in _said(path)
    (tmp_path / "second.db").write_bytes(whole)
    assert "newest backup is" in _said(path)


@pytest.mark.parametrize("kind", damage.KINDS)
def test_the_newest_whole_backup_takes_its_place(
    path: Path, whole: bytes, tmp_path: Path, kind: str
) -> None:
    """What came after it is lost, and said as far as the damaged file can be read; a newer backup
    that is damaged itself is passed over."""
    assert whole
    backups.daily(path).mkdir()
    good, spoilt = (backups.daily(path) / f"plumbline-2026-11-{day}.db" for day in (23, 24))
    backup(path, good)
    with Database.open(path, write=True) as db:
        runs.put(db, build.run("later"), [])
    backup(path, spoilt)
    spoilt.write_bytes(damage.corrupt(spoilt.read_bytes(), kind, 2))
    damaged = damage.corrupt(path.read_bytes(), kind, 1)
    path.write_bytes(damaged)
    restored = transfer.restore(path, NOW)
    assert (restored.backup, len(restored.passed_over)) == (good, 1)
    assert check(path) == []
    assert restored.kept == tmp_path / "plumbline.db.damaged-20261124T120000"
    assert restored.kept.read_bytes() == damaged
    assert sum(restored.lost.values()) == 1 or restored.unreadable
    assert not path.with_name("plumbline.db-wal").exists()


def test_nothing_is_restored_while_somebody_writes(path: Path, whole: bytes) -> None:
    assert whole
    with Database.open(path, write=True), pytest.raises(TryLaterError, match="is being written"):
        transfer.restore(path, NOW)


def test_without_a_whole_backup_the_damaged_file_stays(path: Path, whole: bytes) -> None:
    path.write_bytes(damage.corrupt(whole, "zeros", 1))
    before = path.read_bytes()
    with pytest.raises(PlumblineError, match="no whole backup"):
        transfer.restore(path, NOW)
    assert path.read_bytes() == before


def _said(path: Path) -> str:
    with pytest.raises(PlumblineError) as caught:
        Database.open(path)
    return str(caught.value)


def test_a_damaged_file_is_not_backed_up(path: Path, whole: bytes, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    backup(path, target)
    before = target.read_bytes()
    first = whole.index(b"\x00" * 4)
    corrupted = [whole[:-3000] + bytes(3000), whole[:first] + b"x" + whole[first + 1 :]]
    corrupted += [damage.corrupt(whole, "zeros", seed) for seed in range(20)]
    for content in corrupted:
        path.write_bytes(content)
        with pytest.raises(PlumblineError, match=f"{path} is (damaged|no database)"):
            backup(path, target)
        assert target.read_bytes() == before
        assert backups.newest_backup(path) == target


def test_every_page_has_a_checksum(path: Path, whole: bytes) -> None:
    assert whole[20] == 8 and check(path) == []
    path.write_bytes(whole.replace(b"node1", b"node2"))
    with pytest.raises(DamagedError), Database.open(path) as db:
        db.rows("SELECT * FROM machine")


def test_records_are_what_was_stored(path: Path, whole: bytes) -> None:
    assert whole
    launch = build.run("long")
    cases = [build.Timed(bytes=size) for size in range(6)]
    with Database.open(path) as db:
        kept = launch_records.of_run(db, launch.id)
    assert kept == build.records(launch, cases, blocks=2, reps=1500)


def test_a_read_that_fails_once_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite says the same of both."""
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.finished(db)
    once = DamagedError(path, "database disk image is malformed")
    said = "a second reading found no damage"
    with pytest.raises(PlumblineError, match=said) as caught, Database.open(path):
        raise once
    assert caught.value.__cause__ is once and not isinstance(caught.value, DamagedError)
    path.write_bytes(damage.corrupt(path.read_bytes(), "garbage", 3))
    still = DamagedError(path, "database disk image is malformed")
    with pytest.raises(DamagedError) as again, Database.open(path):
        raise still
    assert again.value is still


@pytest.mark.parametrize("simulated", ['"mvapich2"', '{"library":"ompi","nodes":8}', "null"])
def test_what_was_simulated_is_read(path: Path, simulated: str) -> None:
    """A suite stores the library alone, a campaign the whole machine."""
    settings = f'{{"command":"suite","simulate":{simulated}}}'
    with Database.open(path, write=True) as db:
        campaign = build.later(db, "a-suite", 2, settings=settings)
        assert layout.is_simulated(campaign) is (simulated != "null")
    assert check(path) == []
