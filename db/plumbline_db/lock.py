"""One writer for each database: an advisory lock on a file beside it.

The kernel holds the lock, so it ends with the process, however the process ends. The file stays and
names its last holder; it is never removed, since removing it would let two writers in.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from plumbline_db import own
from plumbline_db.errors import PlumblineError, TryLaterError


def lock_beside(database: Path) -> Path:
    return database.with_name(database.name + ".lock")


class WriterLock:
    """Held from construction to `release()`. Raises TryLaterError when another process holds it."""

    def __init__(self, database: Path) -> None:
        self.path = lock_beside(database)
        try:
            self._file = own.open_lock(self.path, database, database.parent)
        except OSError as error:
            raise PlumblineError(
                f"cannot write {self.path}: {error.strerror}; ask the owner of {self.path.parent} "
                "for write access, or name another file with --db"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise TryLaterError(
                f"{database} is being written by process {holder or '(unknown)'}: "
                "try again when it has finished, or name another file with --db"
            ) from error
        except OSError as error:
            os.close(self._file)
            raise PlumblineError(
                f"cannot lock {self.path}: {error.strerror}; its file system may have no locks: "
                "name a file on a local disk with --db"
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._file)
