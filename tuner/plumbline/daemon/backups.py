"""A whole copy of the database on each day of UTC, and how many of them stay. What is damaged is
neither copied nor written to; what there is of good copies stays then."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from plumbline.daemon.configuration import Backup
from plumbline.daemon.moments import iso
from plumbline.system.words import counted
from plumbline_db import connection, way_back
from plumbline_db.errors import PlumblineError
from plumbline_db.way_back import DamagedError

# After a failure; also how long a database is not looked at again that is damaged.
REST = timedelta(hours=1)


class Made(msgspec.Struct, frozen=True):
    """`said` is for a log; `error`: why there is none ("": there is one, or none is due)."""

    said: list[str] = []
    error: str = ""


class Backups:
    """Of one database; the files themselves say which days have one."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._rests_until: datetime | None = None
        self._damage: DamagedError | None = None

    @property
    def damaged(self) -> bool:
        """As it was found last."""
        return self._damage is not None

    def once_a_day(self, table: Backup, now: datetime) -> Made:
        """Raises DamagedError, at each call until an hour has passed and it is looked again."""
        if self._rests_until is not None and now < self._rests_until <= now + REST:
            if self._damage is not None:
                raise self._damage
            return Made()
        self._rests_until = self._damage = None
        folder = folder_of(self._database, table)
        target = folder / _name(self._database, iso(now)[:10])
        if not table.keep or target.exists():
            return Made()
        try:
            _make(folder)
            connection.backup(self._database, target)
        except DamagedError as error:
            self._rests_until, self._damage = now + REST, error
            raise
        except PlumblineError as error:
            self._rests_until = now + REST
            return Made(error=f"no backup of today: {error}")
        return Made([f"backup: {target}", *_remove_old(self._database, table, target)])


def folder_of(database: Path, table: Backup) -> Path:
    return Path(table.folder) if table.folder else way_back.daily(database)


def all_of(database: Path, table: Backup) -> list[Path]:
    """The oldest first."""
    folder = folder_of(database, table)
    days = re.compile(re.escape(_name(database, "")[:-3]) + r"\d{4}-\d\d-\d\d\.db")
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if days.fullmatch(path.name))


def _name(database: Path, day: str) -> str:
    return f"{database.name.removesuffix('.db')}-{day}.db"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise PlumblineError(
            f"cannot create {folder}: {error.strerror}; name another one in backup.folder"
        ) from error


def _remove_old(database: Path, table: Backup, made: Path) -> list[str]:
    """Never the one that was made now, whatever the days of others say."""
    others = [path for path in all_of(database, table) if path != made]
    old = others[: max(0, len(others) - table.keep + 1)]
    try:
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        return [f"an old backup stays: {error}"]
    return [f"removed {counted(len(old), 'older backup')}"] if old else []
