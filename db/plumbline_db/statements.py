"""Statements on an open database: what tables are written and read by. All transactions pass
through here; connection.py opens the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from plumbline_db import schema
from plumbline_db.backups import DamagedError
from plumbline_db.errors import PlumblineError, TryLaterError

_DAMAGE = (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ)
_LOCKS = (
    apsw.SQLITE_IOERR_LOCK,
    apsw.SQLITE_IOERR_RDLOCK,
    apsw.SQLITE_IOERR_UNLOCK,
    apsw.SQLITE_IOERR_CHECKRESERVEDLOCK,
    apsw.SQLITE_IOERR_SHMLOCK,
    apsw.SQLITE_IOERR_SHMMAP,
    apsw.SQLITE_IOERR_SHMOPEN,
)
_MOST_NUMBERS = 100_000


@contextmanager
def explained(path: Path, read: Path | None = None) -> Iterator[None]:
    """Turns SQLite's errors about the world (not about our SQL) into errors with a remedy. `read`:
    another file, whose content is `path`'s."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise TryLaterError(f"{path} is locked by another program: try again later") from error
    except apsw.FullError as error:
        raise _no_space(path) from error
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise DamagedError(read or path, error) from error
    except apsw.SQLError as error:
        if str(error) != "unsupported file format":  # a number in the head of the file
            raise
        raise DamagedError(read or path, error) from error
    except (
        apsw.ReadOnlyError,
        apsw.CantOpenError,
        apsw.PermissionsError,
        apsw.IOError,
        PermissionError,
    ) as error:
        code = getattr(error, "extendedresult", None)
        if code in _DAMAGE:
            why = "its content is not what was written"
            raise DamagedError(read or path, why) from error
        if code == apsw.SQLITE_IOERR_SHMSIZE:
            raise _no_space(path) from error
        if code == apsw.SQLITE_READONLY_ROLLBACK:
            raise PlumblineError(
                f"the last process that wrote {path} was killed: the next command that writes it, "
                "as the campaign submitted again, puts it right"
            ) from error
        if code in _LOCKS:
            raise PlumblineError(
                f"locks on {path} fail ({apsw.mapping_extended_result_codes[code]}): its file "
                "system may have none; name a file on a local disk with --db"
            ) from error
        raise PlumblineError(
            f"cannot use {path} ({error}): check that file and folder may be read and written, "
            "or name another file with --db"
        ) from error


def _no_space(path: Path) -> PlumblineError:
    return PlumblineError(f"disk full, cannot write {path}: free space and run again")


class Statements:
    """The statements of one connection; one thread at a time."""

    def __init__(self, path: Path, connection: apsw.Connection, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self._connection = connection
        self._within = False  # a transaction
        # The number of each row that `columns.number` has found, by table and values.
        self.numbers: dict[tuple[Any, ...], int] = {}
        self._version = 0  # of the file, while nobody else writes

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        with explained(self.path):
            return list(self._connection.execute(sql, values or {}))

    def row(self, sql: str, values: Mapping[str, Any] | None = None) -> tuple[Any, ...] | None:
        """The first row, or None."""
        all_rows = self.rows(sql, values)
        return all_rows[0] if all_rows else None

    def many(self, sql: str, sets: Iterable[Mapping[str, Any]]) -> None:
        """A statement once for each set of values."""
        with explained(self.path):
            self._connection.executemany(sql, sets)

    def differences_of_schema(self) -> list[str]:
        """Return each table or index that is not as this version of the code makes it."""
        with explained(self.path):
            return schema.differences(self._connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read inside is of one moment, whatever the writer does meanwhile. Inside
        another one, or a transaction, it is part of that."""
        if not self._connection.get_autocommit():
            yield
            return
        with explained(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is on disk when the block ends, or nothing of it is. Inside
        another one it is part of that."""
        if not self.writable:
            raise ValueError(f"{self.path} was opened read-only")
        if self._within:
            yield
            return
        with explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            self._within = True
            ((version,),) = self._connection.execute("PRAGMA data_version")
            if version != self._version or len(self.numbers) > _MOST_NUMBERS:
                self._version = version
                self.numbers.clear()
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self.numbers.clear()
                if not self._connection.get_autocommit():
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._within = False
