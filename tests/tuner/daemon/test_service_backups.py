"""A copy a day: so many stay, a failure is said and tried again, and damage costs no good copy."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from plumbline.daemon import notify, status
from plumbline.daemon.configuration import Backup
from plumbline.daemon.service import REST, Backups, MadeBackup, Service, all_backups
from plumbline_db import backups, connection
from plumbline_db.backups import DamagedError
from plumbline_db.connection import Database
from tests.db import build
from tests.db.damage import corrupt
from tests.tuner.daemon.watching import Clock


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.finished(db)
    return path


def names(database: Path, table: Backup) -> list[str]:
    return [path.name for path in all_backups(database, table)]


def test_so_many_days_stay(database: Path, tmp_path: Path) -> None:
    table, clock, made = Backup(keep=3, folder=str(tmp_path / "safe")), Clock(), Backups(database)
    for _ in range(5):
        made.once_a_day(table, clock())
        assert made.once_a_day(table, clock()).said == []  # once
        clock.sleep(days=1)
    assert names(database, table) == [f"plumbline-2026-11-{day}.db" for day in (26, 27, 28)]
    newest = backups.newest_backup(database)
    assert newest == tmp_path / "safe" / "plumbline-2026-11-28.db"
    assert connection.check(newest) == []
    assert newest.parent.stat().st_mode & 0o077 == 0
    assert status.read(database, clock()).backup.path == str(newest)
    clock.sleep(days=-100)  # the clock is put back
    made.once_a_day(table, clock())
    assert names(database, table)[0] == "plumbline-2026-08-21.db"
    assert len(names(database, table)) == 3


def test_others_files_stay(database: Path, tmp_path: Path) -> None:
    table, clock = Backup(keep=1, folder=str(tmp_path)), Clock()
    for name in ("plumbline-2020-01-01.db.old", "other-2020-01-01.db", "plumbline-mine.db"):
        (tmp_path / name).write_text("mine")
    for _ in range(3):
        Backups(database).once_a_day(table, clock())
        clock.sleep(days=1)
    assert names(database, table) == ["plumbline-2026-11-26.db"]
    assert len(list(tmp_path.glob("*2020*"))) == 2 and (tmp_path / "plumbline-mine.db").exists()


def test_none_is_made_where_none_is_asked_for(database: Path, tmp_path: Path) -> None:
    assert Backups(database).once_a_day(Backup(keep=0), Clock()()) == MadeBackup()
    assert list(tmp_path.glob("*.backups")) == []


def test_what_cannot_be_made_is_said_and_tried_again(database: Path, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("no folder")
    table, clock, made = Backup(folder=str(taken)), Clock(), Backups(database)
    assert "backup.folder" in made.once_a_day(table, clock()).error
    assert made.once_a_day(table, clock()) == MadeBackup()  # it rests
    taken.unlink()
    clock.now += REST + timedelta(seconds=1)
    assert made.once_a_day(table, clock()).said


def test_the_day_before_stays_when_the_disk_is_full(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, clock, made = Backup(keep=1), Clock(), Backups(database)
    made.once_a_day(table, clock())
    clock.sleep(days=1)

    def full(*_: object) -> None:
        raise connection.PlumblineError("no space left to write")

    with monkeypatch.context() as patched:
        patched.setattr(connection, "backup", full)
        assert "no space left" in made.once_a_day(table, clock()).error
    assert names(database, table) == ["plumbline-2026-11-24.db"]


def test_damage_is_told_and_nothing_is_written_to_it(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setitem(notify.SENDERS, "webhook", lambda _n, _s, text, _t: told.append(text))
    clock, file = Clock(), tmp_path / "watch.toml"
    file.write_text('[notify]\nwebhook = "http://127.0.0.1:1/"\n[neighbour]\nload = 1000.0\n')
    Backups(database).once_a_day(Backup(), clock())
    (good,) = all_backups(database, Backup())
    clock.sleep(days=1)
    damaged = corrupt(database.read_bytes(), "garbage", 3)
    database.write_bytes(damaged)
    said: list[str] = []
    service = Service(database, file, said.append, clock=clock)
    for _ in range(3):
        service._step()
        clock.sleep(minutes=1)
    assert database.read_bytes() == damaged
    assert connection.check(good) == [] and all_backups(database, Backup()) == [good]
    assert len(said) == len(told) == 1, (said, told)
    assert "is damaged" in said[0] and str(good) in said[0] and str(good) in told[0]
    with pytest.raises(DamagedError):
        service.once()
    assert database.read_bytes() == damaged
