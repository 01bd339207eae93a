"""Locks of a database: one writer (FILE.lock), one daemon that watches (FILE.watch.lock). Each is
an advisory lock on a file beside it.

The kernel holds the lock, so it ends with the process, however the process ends. The file stays and
names its last holder; it is never removed, since removing it would let two in.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from plumbline_db.errors import PlumblineError, TryLaterError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def open_lock(path: Path, *beside: Path) -> int:
    """A descriptor of the file, which is made where it is not there; nothing in it is changed.
    Raises OSError, and PlumblineError for a link, what is no plain file of its own, or one whose
    owner is neither this user, root, nor who owns one of those `beside`."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(path, flags, 0o664)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise PlumblineError(f"{path} is a symbolic link: remove it") from error
    facts = os.fstat(handle)
    owners = {os.geteuid(), 0, *(path.stat().st_uid for path in beside if path.exists())}
    wrong = (
        "is not a plain file of its own"
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1
        else f"belongs to user {facts.st_uid}"
        if facts.st_uid not in owners
        else ""
    )
    if wrong:
        os.close(handle)
        raise PlumblineError(
            f"{path} {wrong}, so it is not a lock: remove it, or use another folder"
        )
    return handle


def require(path: Path, top: Path) -> None:
    """Raises PlumblineError where somebody else may have written what is at `path`. What there is
    of it, and the folders up to `top`, must be this user's or root's, no links, and closed to
    writing by others; where `top` lies must be closed, too."""
    for folder in (path, *path.parents):
        if folder != top and top not in folder.parents:
            break
        if not os.path.lexists(folder):
            continue
        facts = folder.lstat()
        if facts.st_uid not in (os.geteuid(), 0):
            raise _refusal(folder, f"belongs to user {facts.st_uid}", path)
        if stat.S_ISLNK(facts.st_mode):
            raise _refusal(folder, "is a symbolic link", path)
        if facts.st_mode & _OTHERS_WRITE:
            raise _refusal(folder, "can be written to by others", path)
    require_closed(top.parent)


def require_closed(folder: Path) -> None:
    """Raises PlumblineError where somebody else may rename what lies in the folder or in one above,
    by its name or by where that leads: their owners, and who else may write there, if no sticky bit
    keeps him from what is not his. As root counts whom / belongs to: in a container root may have
    another number."""
    trusted = {os.geteuid(), 0, Path("/").stat().st_uid}
    real = folder.resolve()
    for path in dict.fromkeys((folder, *folder.parents, real, *real.parents)):
        if not path.exists():
            continue
        facts = path.stat()
        for owner in (path.lstat().st_uid, facts.st_uid):
            if owner not in trusted:
                raise _refusal(path, f"belongs to user {owner}", folder)
        if facts.st_mode & _OTHERS_WRITE and not facts.st_mode & stat.S_ISVTX:
            raise _refusal(path, "can be written to by others", folder)


def make(folder: Path) -> None:
    """Make the folder, and all above it that are not there, each closed to others. Raises
    OSError."""
    for parent in (*reversed(folder.parents), folder):
        if not parent.exists():
            parent.mkdir(mode=0o755, exist_ok=True)


def _refusal(refused_path: Path, why: str, path: Path) -> PlumblineError:
    return PlumblineError(
        f"{refused_path} {why}: what is in {path if path.is_dir() else path.parent} is not "
        "believed; name "
        "a folder that is yours, or put owner and mode right (chmod go-w)"
    )


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
            self._file = open_lock(path, database, database.parent)
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
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return None
