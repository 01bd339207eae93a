"""Opens, checks and backs up the database file.

One writer at a time (`lock`); readers open read-only and see the last committed state while the
writer works (WAL). `synchronous=FULL`: what `transaction()` has committed survives a power cut. The
write-ahead log stays beside the file, emptied, when the writer leaves: so people without write
access to the folder can read. A database on a network file system, where such a log does not work,
has a rollback journal. Each page has a checksum (`checksums`).
"""

from __future__ import annotations

import ctypes
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from plumbline_db import backups, lock, schema, scratch, user_files
from plumbline_db.backups import DamagedError
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.statements import Statements, explained

BUSY_MILLISECONDS = 5000
IN_MEMORY = Path(":memory:")  # SQLite's name for no file
SYNCHRONOUS = "FULL"  # SQLite's word for: what is committed is on disk

# The errors of reading damaged content that passed the checksums.
_CONFUSED = (apsw.Error, ValueError, TypeError, LookupError, ArithmeticError, AttributeError)


class Database(Statements):
    """A connection. Use as a context manager; one thread at a time."""

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        held: lock.FileLock | None,
        *,
        writable: bool = False,
    ) -> None:
        super().__init__(path, connection, writable=writable)
        self._lock = held

    @classmethod
    def open(cls, path: Path, *, write: bool = False) -> Database:
        """Open `path`; for writing, create folder and file as needed.

        Raises TryLaterError when another writer has it, DamagedError, PlumblineError when it is
        missing, not ours, of another version of the schema, with a write-ahead log on a network
        file system, or may not be written."""
        path = Path(path).absolute()
        return cls._open_to_write(path) if write else cls._open_to_read(path)

    @classmethod
    def in_memory(cls) -> Database:
        """An empty one, for what is not to be kept: it goes when it is closed."""
        connection = apsw.Connection(str(IN_MEMORY))
        connection.pragma("foreign_keys", True)
        schema.advance(connection)
        return cls(IN_MEMORY, connection, None, writable=True)

    @classmethod
    def _open_to_read(cls, path: Path) -> Database:
        with explained(path):
            known_file = path.exists() and schema.recognise(path)
        if not known_file:
            raise PlumblineError(
                f"there is no database at {path}: run `{command_name()} campaign` first, "
                "or name another file with --db"
            )
        _require_no_distant_log(path)
        flags = apsw.SQLITE_OPEN_READONLY
        with explained(path), ExitStack() as opened:
            connection = apsw.Connection(str(path), flags=flags, vfs=schema._checksum_vfs())
            opened.enter_context(closing(connection))
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            schema.require_readable(path, schema.version(connection), write=False)
            opened.pop_all()
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
            known_file = path.exists() and schema.recognise(path)
        if known_file:
            _require_no_distant_log(path)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        held = lock.to_write(path)
        with ExitStack() as opened:
            opened.callback(held.release)
            if not known_file:
                _create(path)
            with explained(path):
                connection = apsw.Connection(str(path), flags=flags, vfs=schema._checksum_vfs())
                opened.enter_context(closing(connection))
                _prepare_to_write(path, connection)
            opened.pop_all()
        return cls(path, connection, held, writable=True)

    def measures(self, campaign: str) -> None:
        """Say to other processes which campaign this one measures."""
        if self._lock is not None:
            self._lock.measures(campaign)

    def close(self) -> None:
        try:
            with explained(self.path):
                self._connection.close()
        finally:
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
        try:
            # Damaged content may be the reason for an error that looks like a bug.
            if isinstance(error, _CONFUSED) and self.path != IN_MEMORY:
                self._require_whole(error)
            writes = self._lock is not None
            if writes and isinstance(error, KeyboardInterrupt) and not hasattr(error, "__notes__"):
                error.add_note("what was measured is kept, the same command continues")
        finally:
            self.close()
        if isinstance(error, DamagedError) and error.path == self.path:
            _require_still_damaged(error)

    def _require_whole(self, error: BaseException) -> None:
        from plumbline_db import integrity

        if damage := integrity.problems(self):
            raise self.of_another_plumbline() or DamagedError(self.path, damage[0]) from error

    def of_another_plumbline(self) -> PlumblineError | None:
        """Return what to raise where the file has other tables in pages that are whole."""
        from plumbline_db import integrity

        tables = self.differences_of_schema()
        if not tables or integrity.problems_of_pages(self):
            return None
        return schema.other_tables(self.path, schema.version(self._connection), tables[0])


def _require_still_damaged(error: DamagedError) -> None:
    """SQLite calls a file damaged of which a read has failed once. Raises PlumblineError where all
    of it can be read."""
    try:
        damage = check(error.path)
    except PlumblineError:
        return
    if not damage:
        raise PlumblineError(
            f"{error.path} could not be read ({error.why}), but a second reading found no damage: "
            "run the command again, and check the disk (dmesg)"
        ) from error


def _require_no_distant_log(path: Path) -> None:
    kind = user_files.network(path) if schema.has_log(path) else None
    if kind is not None:
        raise PlumblineError(
            f"{path} was made on a local disk and lies on a network file system ({kind}), where "
            "its write-ahead log does not work: move it back, and copy it by "
            f"`{command_name()} db backup` (docs/database.md)"
        )


def _create(path: Path) -> None:
    """An empty database, which is there as a whole or not at all. Another one may have made it
    before the lock was had."""
    if path.exists() and schema.recognise(path):
        return
    with (
        scratch.replacing(path) as part,
        explained(path),
        closing(apsw.Connection(str(part), vfs=schema._checksum_vfs())) as connection,
    ):
        connection.pragma("synchronous", "OFF")  # `replacing` waits for the disk once
        schema.add(connection)
        connection.pragma("auto_vacuum", "INCREMENTAL")
        schema.advance(connection)


def _prepare_to_write(path: Path, connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    version_found = schema.version(connection)
    schema.require_readable(path, version_found, write=True)
    if connection.readonly("main"):
        raise PlumblineError(
            f"no permission to write {path}: ask its owner, or name another file with --db"
        )
    connection.pragma("synchronous", SYNCHRONOUS)
    connection.pragma("foreign_keys", True)
    try:
        schema.advance(connection)
    except (apsw.SQLError, apsw.ConstraintError, apsw.MismatchError) as error:
        raise DamagedError(
            path,
            f"it has not what schema version {version_found} has: {error}; it was left as it is",
        ) from error
    journal_mode = "WAL" if user_files.network(path) is None else "TRUNCATE"
    mode = connection.pragma("journal_mode", journal_mode)
    if mode != journal_mode.lower():
        raise PlumblineError(
            f"the file system of {path} does not support a write-ahead log (journal mode {mode}): "
            "put the database on a local disk with --db"
        )
    connection.pragma("journal_size_limit", 0)
    persist = ctypes.c_int(1)
    connection.file_control("main", apsw.SQLITE_FCNTL_PERSIST_WAL, ctypes.addressof(persist))


def release(db: Database) -> None:
    """Pages that are free go back to the file system."""
    with explained(db.path):
        for statement in ("PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"):
            list(db._connection.execute(statement))  # a step a page


def as_one_file(db: Database) -> None:
    """Leave it without a log beside it, when it is closed."""
    with explained(db.path):
        db._connection.pragma("journal_mode", "DELETE")


def compact(path: Path) -> tuple[int, int]:
    """Writes the file anew, without gaps; returns how many bytes it had and has. It needs as much
    room again meanwhile, and is the old file or the new one, whatever happens."""
    with Database.open(path) as db:  # there, and one of ours
        before = db.path.stat().st_size
    with Database.open(path, write=True) as db, explained(path):
        db._connection.execute("VACUUM")
        db._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path.stat().st_size


def backup(path: Path, target: Path) -> None:
    """A whole, consistent copy at `target`, also while a campaign is writing.

    SQLite's online backup into a temporary folder beside it, then renamed. An earlier backup is
    replaced; any other file is not. A file that is damaged is not copied."""
    target = Path(target).absolute()
    if target.exists():
        if target.samefile(path):
            raise PlumblineError(f"{target} is the database itself: name another file")
        schema.recognise(target)
    with (
        Database.open(path) as db,
        explained(target, read=db.path),
        scratch.replacing(target) as part,
    ):
        with closing(apsw.Connection(str(part), vfs=schema._checksum_vfs())) as copy:
            # No other process uses the file, so shared memory, which not every file system
            # supports, is not needed.
            copy.pragma("locking_mode", "EXCLUSIVE")
            with copy.backup("main", db._connection, "main") as progress:
                progress.step()
            copy.pragma("journal_mode", "DELETE")  # one file, without a log beside it
        if problems := check(part):
            raise DamagedError(path, problems[0])
    backups.keep(Path(path).absolute(), target)


def check(path: Path) -> list[str]:
    """Return what is wrong with the file; nothing where it is whole."""
    from plumbline_db import integrity  # the readers of all tables: few commands need them

    with Database.open(path) as db:
        return integrity.problems(db)
