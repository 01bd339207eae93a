"""Limits of what is believed of a place that others can write to: files that are opened to be
locked, and folders whose texts are done as they say."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from plumbline_db.errors import PlumblineError

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
