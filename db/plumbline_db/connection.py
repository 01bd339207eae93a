"""Opens, checks and backs up the database file. All transactions pass through here.

One writer at a time (`lock`); readers open read-only and see the last committed state while the
writer works (WAL). `synchronous=FULL`: what `transaction()` has committed survives a power cut. The
write-ahead log stays beside the file, emptied, when the writer leaves: so people without write
access to the folder can read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

from plumbline_db import schema, scratch
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.lock import WriterLock

BUSY_MILLISECONDS = 5000


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns SQLite's errors about the world (not about our SQL) into errors with a remedy."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise TryLaterError(f"{path} is locked by another program: try again later") from error
    except apsw.FullError as error:
        raise PlumblineError(f"no space left to write {path}: free some and run again") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise PlumblineError(
            f"{path} is damaged ({error}): restore a backup, or name another file with --db"
        ) from error
    except (
        apsw.ReadOnlyError,
        apsw.CantOpenError,
        apsw.PermissionsError,
        apsw.IOError,
        PermissionError,
    ) as error:
        raise PlumblineError(
            f"cannot use {path} ({error}): check that file and folder may be read and written, "
            "or name another file with --db"
        ) from error


class Database:
    """A connection. Use as a context manager; one thread at a time."""

    def __init__(self, path: Path, connection: apsw.Connection, lock: WriterLock | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @property
    def writable(self) -> bool:
        return self._lock is not None

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Database:
        """Open `path`; for writing, create folder and file as needed and migrate.

        Raises TryLaterError when another writer has it, PlumblineError when it is missing, not
        ours, newer than the code, or may not be written."""
        path = Path(path).absolute()
        return cls._open_to_write(path) if write else cls._open_to_read(path)

    @classmethod
    def _open_to_read(cls, path: Path) -> Database:
        with explained(path):
            known_file = path.exists() and schema.recognise(path)
        if not known_file:
            raise PlumblineError(
                f"there is no database at {path}: run `plumbline campaign` first, "
                "or name another file with --db"
            )
        with explained(path):
            connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                connection.set_busy_timeout(BUSY_MILLISECONDS)
                found, known = schema.version(connection), len(schema.migrations())
                schema.require_known(path, found, known)
                if found < known:
                    raise PlumblineError(
                        f"{path} has schema version {found}, this Plumbline reads version {known}: "
                        "run `plumbline db migrate` (back it up first with `plumbline db backup`)"
                    )
            except BaseException:
                connection.close()
                raise
        return cls(path, connection, None)

    @classmethod
    def _open_to_write(cls, path: Path) -> Database:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PlumblineError(
                f"cannot create the folder {path.parent}: {error.strerror}; "
                "name another file with --db"
            ) from error
        with explained(path):
            if path.exists():
                schema.recognise(path)
        lock = WriterLock(path)
        try:
            with explained(path):
                connection = apsw.Connection(
                    str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
                )
                try:
                    _prepare_to_write(path, connection)
                except BaseException:
                    connection.close()
                    raise
        except BaseException:
            lock.release()
            raise
        return cls(path, connection, lock)

    def close(self) -> None:
        with explained(self.path):
            self._connection.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with explained(self.path):
            return list(self._connection.execute(sql, values or {}))

    def row(self, sql: str, values: Mapping[str, Any] | None = None) -> tuple[Any, ...] | None:
        """The first row, or None."""
        found = self.rows(sql, values)
        return found[0] if found else None

    def many(self, sql: str, sets: Iterable[Mapping[str, Any]]) -> None:
        """A statement once for each set of values."""
        with explained(self.path):
            self._connection.executemany(sql, sets)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever the writer does meanwhile."""
        with explained(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is on disk when the block ends, or nothing of it is."""
        if not self.writable:
            raise ValueError(f"{self.path} was opened read-only")
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if not self._connection.get_autocommit():
                    self._connection.execute("ROLLBACK")
                raise


def _prepare_to_write(path: Path, connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    steps = schema.migrations()
    schema.require_known(path, schema.version(connection), len(steps))
    if connection.readonly("main"):
        raise PlumblineError(
            f"no permission to write {path}: ask its owner, or name another file with --db"
        )
    connection.pragma("synchronous", "FULL")
    connection.pragma("foreign_keys", True)
    # The first migration writes the header of a new file before the log exists, so that the file
    # itself, and not only its log, says whose it is.
    schema.migrate(connection, steps[:1])
    mode = connection.pragma("journal_mode", "WAL")
    if mode != "wal":
        raise PlumblineError(
            f"the file system of {path} cannot hold a write-ahead log (journal mode {mode}): "
            "put the database on a local disk with --db"
        )
    connection.pragma("journal_size_limit", 0)
    persist = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(persist))
    schema.migrate(connection, steps)


def check(path: Path) -> list[str]:
    """What is wrong with the file: SQLite's integrity check, dangling references, schema version.

    An empty list means that it is sound. Reads every page."""
    with Database.open(path) as db:
        problems = [str(text) for (text,) in db.rows("PRAGMA integrity_check") if text != "ok"]
        problems += [
            f"table {table}, row {row}: refers to a missing row of {parent}"
            for table, row, parent, _ in db.rows("PRAGMA foreign_key_check")
        ]
        applied = [number for (number,) in db.rows("SELECT number FROM migration ORDER BY number")]
        expected = [step.number for step in schema.migrations()]
        if applied != expected:
            problems.append(f"migrations recorded are {applied}, expected {expected}")
    return problems


def backup(path: Path, target: Path) -> None:
    """A whole, consistent copy at `target`, also while a campaign is writing.

    SQLite's online backup into a temporary folder beside it, then renamed. An earlier backup is
    replaced; any other file is not."""
    target = Path(target).absolute()
    if target.exists():
        if target.samefile(path):
            raise PlumblineError(f"{target} is the database itself: name another file")
        schema.recognise(target)
    with Database.open(path) as db, explained(target), scratch.replacing(target) as part:
        copy = apsw.Connection(str(part))
        try:
            with copy.backup("main", db._connection, "main") as progress:
                progress.step()
            copy.pragma("journal_mode", "DELETE")  # one file, without a log beside it
        finally:
            copy.close()
