"""Whose file it is, and which version of the schema it has.

A file is recognised by SQLite's application_id in its header, read as plain bytes, so that a file
that is not ours is refused before SQLite touches it. `user_version` is the version.
"""

from __future__ import annotations

from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path

import apsw

from plumbline_db import checksums, lock, regular, version_1, way_back
from plumbline_db.errors import PlumblineError
from plumbline_db.way_back import DamagedError


class OtherSchemaError(PlumblineError):
    """The file was made by a Plumbline with other tables: it is whole, and not for this one."""


APPLICATION_ID = 0x504C4D42  # "PLMB"
_MAGIC = b"SQLite format 3\x00"


VERSION = 2


@cache
def text() -> str:
    """Return the SQL that makes the tables in an empty file."""
    return resources.files("plumbline_db").joinpath("schema.sql").read_text("utf-8")


def recognise(path: Path) -> bool:
    """True: a Plumbline database. False: an empty file, which may become one. Else an error:
    DamagedError where it was ours, by what lies beside it."""
    head = _head(path)
    if not head and way_back.newest_backup(path) is None:
        return False
    if head[:16] != _MAGIC or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        what = "an SQLite database of another program" if head[:16] == _MAGIC else "no database"
        if lock.beside(path).exists():
            raise DamagedError(path, f"by its first bytes it is {what}")
        raise PlumblineError(
            f"{path} is {what}, not Plumbline's: it was left as it is; name another file with --db"
        )
    if head[20] != checksums.RESERVED_BYTES:
        raise DamagedError(path, "by its first bytes its pages have no checksums")
    return True


def is_database(path: Path) -> bool:
    """Return whether it is a database, of whatever program."""
    return _head(path)[:16] == _MAGIC


def has_log(path: Path) -> bool:
    """Return whether what is written goes to a write-ahead log; not so in a backup."""
    return _head(path)[18:19] == b"\x02"


def _head(path: Path) -> bytes:
    try:
        with regular.open_file(path) as file:
            return file.read(100)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}") from error


def version(connection: apsw.Connection) -> int:
    """Return that of the file; 0 for an empty one."""
    return int(connection.pragma("user_version"))


def require_readable(path: Path, version_found: int, *, write: bool) -> None:
    """Refuse a file of another version of the code; one that is to be written may be older."""
    version_known = VERSION
    if version_found > version_known:
        raise OtherSchemaError(
            f"{path} was made by a newer Plumbline (schema {version_found}), this one knows "
            "schemas up to "
            f"{version_known}: use the newer Plumbline, or name another file with --db"
        )
    if version_found < version_known and not write:
        raise OtherSchemaError(
            f"{path} was made by an older Plumbline (schema {version_found}), this one reads "
            "schema "
            f"{version_known}: copy the file; then any command that writes brings it up to date"
        )


def differences(connection: apsw.Connection) -> list[str]:
    """Return each table or index that is not as in a file that this version of the code makes."""
    statements_expected, statements_there = statements(), dict(connection.execute(_TABLES))
    differences_found = []
    for name in sorted(statements_expected.keys() | statements_there.keys()):
        if name not in statements_there:
            differences_found.append(f"table {name} is missing")
        elif name not in statements_expected:
            differences_found.append(f"table {name} is not part of this schema")
        elif statements_expected[name] != statements_there[name]:
            differences_found.append(f"table {name} differs from the schema")
    return differences_found


@cache
def statements() -> dict[str, str]:
    """Return what makes each table, view and index, by name."""
    with closing(apsw.Connection(":memory:")) as new:
        new.execute(text())
        return dict(new.execute(_TABLES))


def other_tables(path: Path, version_found: int, difference: str) -> OtherSchemaError:
    """Return what to raise for a whole file of a schema with this number and other tables."""
    return OtherSchemaError(
        f"{path} was made by an older Plumbline (schema {version_found} with other tables: "
        f"{difference}): "
        "read it with that Plumbline, or measure into another file with --db"
    )


def advance(connection: apsw.Connection) -> None:
    """Bring the file to this version of the code, or leave it as it is: one transaction."""
    keys = connection.pragma("foreign_keys")
    connection.pragma("foreign_keys", False)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version_found = version(connection)
        if version_found == 1:
            version_1.convert(connection, statements())
        elif version_found == 0:
            connection.execute(text())
        if version_found < VERSION:
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", VERSION)
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise
    finally:
        connection.pragma("foreign_keys", keys)


# Name and SQL of each table and index.
_TABLES = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
