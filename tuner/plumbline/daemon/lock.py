"""One daemon for each database: an advisory lock on FILE.watch.lock, which the kernel ends with its
holder. The file says who holds it: process, host, since when."""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path

import msgspec

from plumbline_db import own
from plumbline_db.errors import PlumblineError, TryLaterError

_MOST_BYTES = 4096


class Holder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pid: int
    host: str
    since: str

    @property
    def named(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


def beside(database: Path) -> Path:
    return database.with_name(database.name + ".watch.lock")


class WatchLock:
    """Held from construction to `release()`. Raises TryLaterError that says who has it."""

    def __init__(self, database: Path, since: str) -> None:
        self.path = beside(database)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = own.open_lock(self.path, database, database.parent)
        except OSError as error:
            raise PlumblineError(
                f"cannot write {self.path}: {error.strerror}; ask who owns the folder, or name "
                "another database with --db"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = _read(self._file)
            os.close(self._file)
            who = holder.named if holder else "another process"
            raise TryLaterError(f"{database} is watched already: by {who}") from error
        except OSError as error:
            os.close(self._file)
            raise PlumblineError(
                f"cannot lock {self.path}: {error.strerror}; name a database on a local disk"
            ) from error
        text = msgspec.json.encode(Holder(os.getpid(), socket.gethostname(), since))
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, text + b"\n", 0)

    def release(self) -> None:
        os.close(self._file)


def holder(database: Path) -> Holder | None:
    """Who watches now; None: nobody does."""
    try:
        file = os.open(beside(database), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
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
