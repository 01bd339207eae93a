"""Locks of a database: one writer (FILE.lock), one daemon that watches (FILE.watch.lock). Each is
an advisory lock on a file beside it.

The kernel holds the lock, so it ends with the process, however the process ends. The file stays and
names its last holder; it is never removed, since removing it would let two in.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from plumbline_db import own
from plumbline_db.errors import PlumblineError, TryLaterError

_MOST_BYTES = 4096


class Holder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A process, and when it took the lock. `campaign`: the one that it measures; empty: none."""

    pid: int
    host: str
    since: str
    campaign: str = ""

    @property
    def named(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class FileLock:
    """Held from construction to `release()`. Raises TryLaterError where another process holds it:
    `taken` says that, with {holder} in it."""

    def __init__(self, path: Path, database: Path, taken: str) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = own.open_lock(path, database, database.parent)
        except OSError as error:
            raise PlumblineError(
                f"cannot write {path}: {error.strerror}; ask the owner of {path.parent} for write "
                "access, or name another file with --db"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock_holder = _read(self._file)
            os.close(self._file)
            holder_name = lock_holder.named if lock_holder else "another process"
            raise TryLaterError(f"{database} {taken.format(holder=holder_name)}") from error
        except OSError as error:
            os.close(self._file)
            raise PlumblineError(
                f"cannot lock {path}: {error.strerror}; its file system may have no locks: "
                "name a file on a local disk with --db"
            ) from error
        self._sign()

    def release(self) -> None:
        os.close(self._file)

    def measures(self, campaign: str) -> None:
        """Say which campaign this process measures."""
        self._sign(campaign)

    def _sign(self, campaign: str = "") -> None:
        """Who holds it is for people: a full disk keeps nobody from his lock."""
        since = datetime.now(UTC).isoformat(timespec="seconds")
        text = msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), since, campaign))
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, text + b"\n", 0)


def beside(database: Path) -> Path:
    """Return the lock of who writes."""
    return database.with_name(database.name + ".lock")


def watch_beside(database: Path) -> Path:
    """Return the lock of who watches."""
    return database.with_name(database.name + ".watch.lock")


def to_write(database: Path) -> FileLock:
    return FileLock(
        beside(database),
        database,
        "is being written by {holder}: try again when it has finished, or name another file "
        "with --db",
    )


def to_watch(database: Path) -> FileLock:
    return FileLock(watch_beside(database), database, "is watched already: by {holder}")


def watcher(database: Path) -> Holder | None:
    """Who watches now; None: nobody does."""
    return _holder(watch_beside(database))


def writer(database: Path) -> Holder | None:
    """Return the process that writes now; None: there is none. The lock of a process that has ended
    is not tried, as whoever tries it keeps others from it meanwhile."""
    try:
        file = os.open(beside(database), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        signed = _read(file)
    finally:
        os.close(file)
    is_local = signed is not None and signed.host == socket.gethostname()
    if is_local and signed is not None and not Path(f"/proc/{signed.pid}").exists():
        return None
    return _holder(beside(database))


def _holder(path: Path) -> Holder | None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(file) or Holder(0, "?", "?")
    except OSError:
        return None
    finally:
        os.close(file)
    return None


def _read(file: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(file, _MOST_BYTES, 0), type=Holder)
    except (OSError, msgspec.DecodeError):
        return None
