"""A reader of what mpisee has written of an application: an SQLite database that is not ours, read
as little as is needed, and with nothing of it believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from plumbline_db.errors import UsageError
from plumbline_db.records import Record

_TABLES = frozenset({"data", "comms", "operations", "mappings", "metadata", "exectimes"})
_MOST_ROWS = 1_000_000
_STEPS = 2_000_000_000  # of SQLite's machine: whatever a view makes of it, it ends


class SeenCalls(Record, frozen=True):
    """Calls of one function by one rank on one communicator of `size` ranks, with buffers in one
    class of sizes: how many, their seconds and their bytes in all."""

    rank: int
    communicator: str
    size: int
    function: str
    least_bytes: int
    calls: int
    seconds: float
    bytes: int


class Seen(Record, frozen=True):
    """`machines` and `seconds` by rank; `facts` of the run by name; `broken`: rows of calls that
    could not be read."""

    calls: list[SeenCalls]
    broken: int
    machines: list[str]
    seconds: list[float]
    facts: dict[str, str]


def read(path: Path) -> Seen:
    """Raises UsageError where it is no profile of mpisee."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise UsageError(f"cannot read the profile {path}: {error}") from error
    try:
        return _read(connection)
    except (apsw.Error, TypeError, ValueError, OverflowError, UnicodeDecodeError) as error:
        raise UsageError(f"profile {path}: not a database of mpisee ({error})") from error
    finally:
        connection.close()


def _read(connection: apsw.Connection) -> Seen:
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    steps = _STEPS // 1_000_000
    steps_left = iter(range(steps))
    connection.set_progress_handler(lambda: next(steps_left, None) is None, 1_000_000)
    table_names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not table_names >= _TABLES:
        raise ValueError(f"it has no table {min(_TABLES - table_names)}")
    rows = _rows(
        connection,
        """SELECT d.rank, c.name, c.size, o.operation, d.buffer_size_min, d.calls, d.time, d.volume
           FROM data d JOIN comms c ON c.id = d.comm_id
           JOIN operations o ON o.id = d.operation_id""",
    )
    calls: list[SeenCalls] = []
    problem: Exception | None = None
    for row in rows:
        try:
            ids = _int(row[0]), str(row[1]), _int(row[2]), str(row[3])
            calls.append(SeenCalls(*ids, *_numbers(row[4:])))
        except (TypeError, ValueError, OverflowError) as error:
            problem = problem or error
    if problem and not calls:
        raise problem
    machines = [str(row[0]) for row in _rows(connection, "SELECT machine FROM mappings")]
    seconds = [float(row[0]) for row in _rows(connection, "SELECT time FROM exectimes")]
    facts = {str(row[0]): str(row[1]) for row in _rows(connection, "SELECT * FROM metadata")}
    return Seen(calls, len(rows) - len(calls), machines, seconds, facts)


def _rows(connection: apsw.Connection, sql: str) -> list[tuple[Any, ...]]:
    rows = list(connection.execute(f"{sql} LIMIT {_MOST_ROWS + 1}"))
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"more than {_MOST_ROWS} rows")
    return rows


def _int(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.60} is not a whole number")
    return value


def _numbers(values: tuple[Any, ...]) -> tuple[int, int, float, int]:
    """Least bytes, calls, seconds, bytes."""
    least, calls, time, volume = values
    seconds = float(time)
    if not 0 <= seconds <= 1e12:
        raise ValueError(f"{time!r:.40} is not a number of seconds")
    return least if type(least) is int else 0, _int(calls), seconds, _int(volume)
