"""Whose file it is, and which migrations it has seen.

A file is recognised by SQLite's application_id in its header, read as plain bytes, so that a file
that is not ours is refused before SQLite touches it. Migrations are numbered SQL files; those that
a file has not seen run in one transaction with their records, all or none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import apsw

from plumbline_db import checksums, way_back
from plumbline_db.errors import PlumblineError
from plumbline_db.lock import lock_beside
from plumbline_db.way_back import DamagedError

APPLICATION_ID = 0x504C4D42  # "PLMB"
_MAGIC = b"SQLite format 3\x00"


class Migration(NamedTuple):
    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations of this version of the code, 1, 2, 3 … without a gap."""
    found = []
    for entry in resources.files("plumbline_db").joinpath("migrations").iterdir():
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", entry.name):
            found.append(Migration(int(match[1]), match[2], entry.read_text("utf-8")))
    found.sort()
    if [step.number for step in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"migrations are not numbered 1, 2, 3 …: {[m.number for m in found]}")
    return tuple(found)


def recognise(path: Path) -> bool:
    """True: a Plumbline database. False: an empty file, which may become one. Else an error:
    DamagedError where it was ours, by what lies beside it."""
    head = _head(path)
    if not head and way_back.newest_backup(path) is None:
        return False
    if head[:16] != _MAGIC or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        what = "an SQLite database of another program" if head[:16] == _MAGIC else "no database"
        if lock_beside(path).exists():
            raise DamagedError(path, f"by its first bytes it is {what}")
        raise PlumblineError(
            f"{path} is {what}, not Plumbline's: it was left as it is; name another file with --db"
        )
    schema = int.from_bytes(head[60:64], "big")
    if schema >= checksums.SINCE_SCHEMA and head[20] != checksums.RESERVED_BYTES:
        raise DamagedError(path, "by its first bytes its pages have no checksums")
    return True


def has_log(path: Path) -> bool:
    """Whether what is written goes to a write-ahead log; not so in a backup."""
    return _head(path)[18:19] == b"\x02"


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(100)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}") from error


def version(connection: apsw.Connection) -> int:
    """The number of the last migration that the file has seen; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def require_known(path: Path, found: int, known: int) -> None:
    """Refuse a file that a newer version of the code has written."""
    if found > known:
        raise PlumblineError(
            f"{path} has schema version {found}, this Plumbline knows versions up to {known}: "
            "use the newer Plumbline that wrote it, or name another file with --db"
        )


def migrate(connection: apsw.Connection, steps: Sequence[Migration]) -> None:
    """Bring the file to the last of `steps`, or leave it as it is: they are one transaction, with
    a record of each."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version(connection) :]:
            if step.number == 1:
                connection.pragma("application_id", APPLICATION_ID)
                connection.execute(
                    "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                    " applied TEXT NOT NULL) STRICT"
                )
            connection.execute(step.sql)
            connection.execute(
                "INSERT INTO migration (number, name, applied)"
                " VALUES (:number, :name, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
                {"number": step.number, "name": step.name},
            )
            connection.pragma("user_version", step.number)
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise
