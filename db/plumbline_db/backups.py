"""Damaged files: how they are recognised, and how one gets them back. A note beside a database,
FILE.backup, names its newest backup: it must be found where the database cannot be read."""

from __future__ import annotations

import contextlib
import datetime
from pathlib import Path

from plumbline_db import scratch, user_files
from plumbline_db.errors import PlumblineError, typed


class DamagedError(PlumblineError):
    """The content of a file is not what was written. `why` says it without file and remedy."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(f"{path} is damaged ({why}): {remedy(path)}")
        self.path = path
        self.why = str(why)


def remedy(path: Path) -> str:
    newest = newest_backup(path)
    if newest is None:
        return (
            "no backup of it is known. If you have a backup, copy it over the file, and remove "
            f"{path.name}-wal and {path.name}-shm; or name another file with --db"
        )
    when = datetime.datetime.fromtimestamp(newest.stat().st_mtime, datetime.UTC)
    return (
        f"its newest backup is {newest}, of {when:%Y-%m-%d %H:%M} UTC. Stop what writes; then "
        f"`{typed('db', 'restore', '--db', path)}` puts the newest whole one in its place, and "
        "says what is lost"
    )


def newest_backup(path: Path) -> Path | None:
    """None: there was none, or it is not there any more."""
    try:
        backup = Path(user_files.text(_note(path), "surrogateescape"))
        return backup if backup.is_file() else None
    except (OSError, ValueError):
        return None


def backups(path: Path) -> list[Path]:
    """Return those that are known, the newest first: the one of the note, and those of `daily`."""
    folder = daily(path)
    backup_paths = {*(folder.glob("*.db") if folder.is_dir() else ()), newest_backup(path)} - {None}
    return sorted(
        (backup for backup in backup_paths if backup),
        key=lambda backup: backup.stat().st_mtime,
        reverse=True,
    )


def daily(path: Path) -> Path:
    """Return where the daemon's backups of each day are, if nothing else is said."""
    return path.with_name(path.name + ".backups")


def keep(path: Path, backup: Path) -> None:
    """`backup` is the newest one of `path`. Who may not write in its folder leaves no note."""
    with contextlib.suppress(OSError, PlumblineError), scratch.replacing(_note(path)) as part:
        part.write_text(str(backup), "utf-8", errors="surrogateescape")


def _note(path: Path) -> Path:
    return path.with_name(path.name + ".backup")
