"""Temporary folders, and files that are written in one and then take their place as a whole.

Each folder is locked by the kernel as long as its process lives, however that ends. So the next one
who makes a folder in the same place can tell what a killed process has left there, and removes it;
names never clash, also where every process has the same number (a container). A lock is known to
one kernel: what another one has left in a shared place goes when nothing in it has changed for a
day."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from plumbline_db.errors import PlumblineError

PREFIX = ".plumbline-scratch-"
OLD_SECONDS = 86400.0

_cleared: set[tuple[Path, str]] = set()
_mine: dict[Path, int] = {}  # folders that are not removed yet, and the process that made each


@contextmanager
def folder(within: Path | None = None, prefix: str = PREFIX) -> Iterator[Path]:
    """Make a folder for its owner alone, `within` a folder that is there (None: where temporary
    files go), until the block or the process ends. Raises PlumblineError where it cannot be
    made."""
    try:
        place = Path(tempfile.gettempdir()) if within is None else within
        clear(place, prefix)
        path, handle = _made(place, prefix)
    except OSError as error:
        where, hint = ("the folder of temporary files", "; TMPDIR names it")
        if within is not None:
            where, hint = str(within), ""
        raise PlumblineError(f"cannot write in {where}: {error.strerror}{hint}") from error
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)
        _mine.pop(path, None)


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path for a file that takes the place of `target` when the block ends: `target` is the old
    one or the new one, whatever happens."""
    with folder(target.parent) as inside:
        part = inside / target.name
        yield part
        sync(part)
        part.rename(target)


def sync(path: Path) -> None:
    """Wait until what is written is on disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def clear(place: Path, prefix: str = PREFIX) -> None:
    """Removes what processes that have ended have left in `place`: this user's, once."""
    if (place, prefix) in _cleared:
        return
    _cleared.add((place, prefix))
    for path in place.glob(prefix + "*"):
        with contextlib.suppress(OSError):  # another one clears too
            _clear(path, prefix)


def _clear(path: Path, prefix: str) -> None:
    handle = _opened(path)
    try:
        if os.fstat(handle).st_uid == os.geteuid() and _is_left(path, prefix, handle):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def _is_left(path: Path, prefix: str, handle: int) -> bool:
    if path.name.startswith(f"{prefix}{_kernel()}-"):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        except OSError:  # a file system without such locks
            pass
    # The newest change of the folder or of a file in it: records may grow for hours.
    changed = max(inside.lstat().st_mtime for inside in (path, *path.iterdir()))
    return changed < time.time() - OLD_SECONDS


def _made(place: Path, prefix: str) -> tuple[Path, int]:
    while True:
        path = place / f"{prefix}{_kernel()}-{secrets.token_hex(8)}"
        _mine[path] = os.getpid()
        path.mkdir(mode=0o700)  # a signal may come between this and the next line
        try:
            handle = _opened(path)
        except FileNotFoundError:  # taken for one that is left, before it had its lock
            continue
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            return path, handle
        os.close(handle)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


@cache
def _kernel() -> str:
    """Return which kernel knows of our locks."""
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        name = socket.gethostname()
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@atexit.register
def _remove_mine() -> None:
    """Remove what a signal came between."""
    for path, process in list(_mine.items()):
        if process == os.getpid():
            shutil.rmtree(path, ignore_errors=True)
