"""The spool of a site's database: a folder into which jobs of all users put what they measured, and
which the owner of the database imports.

Each job writes one file with the rights of its user (`put`). Nothing in the folder is believed
(`take`): a file is copied up to a limit, and the copy is read as any file of another site."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from plumbline_db import scratch, transfer
from plumbline_db.backups import DamagedError
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.transfer import Moved

VARIABLE = "PLUMBLINE_SPOOL"
SUFFIX = ".plumbline"
MOST_BYTES = 64 << 20  # of a file
MOST_FILES = 1000  # in a turn

# Name, bytes and time of the last change (ns): a file of the same ones was read before.
SpoolFile = tuple[str, int, int]


class Taken(NamedTuple):
    """A turn of the import. `refused`: why a file was not imported, a sentence each; `read`: the
    files that were looked at."""

    moved: list[Moved]
    refused: list[str]
    read: set[SpoolFile]


def put(path: Path, folder: Path, campaign: str, time: str) -> Path:
    """Write one campaign of the database at `path` as a new file in `folder`; return the file. It
    appears there as a whole. `time` is now (ISO 8601, UTC). Raises PlumblineError where the folder
    does not exist or cannot be written."""
    if not folder.is_dir():
        raise PlumblineError(f"the spool {folder} is no folder: ask the owner of the database")
    target = folder / f"{campaign}-{secrets.token_hex(8)}{SUFFIX}"
    transfer.export(path, target, [campaign], time)
    return target


def take(path: Path, folder: Path, known: Collection[SpoolFile] = ()) -> Taken:
    """Import the files of `folder` into the database at `path`, except those `known` from an
    earlier turn. A file that was imported before changes nothing. Raises PlumblineError where the
    folder cannot be read, TryLaterError where another process writes the database."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError as error:
        raise PlumblineError(f"cannot read the spool {folder}: {error.strerror}") from error
    taken = Taken([], [], set())
    for name in names:
        if name.startswith(".") or not name.endswith(SUFFIX):
            continue
        try:
            file, data = _read(folder / name, known)
            if file in known:
                continue
            taken.read.add(file)
            taken.moved.extend(_take_copy(path, data))
        except (TryLaterError, DamagedError):
            raise
        except OSError as error:
            taken.refused.append(f"{name!r:.200}: {error.strerror}")
        except PlumblineError as error:
            taken.refused.append(f"{name!r:.200}: {error}")
        if len(taken.read) == MOST_FILES:
            break
    return taken


def take_file(path: Path, source: Path) -> list[Moved]:
    """Import one file of a spool. Raises PlumblineError where it cannot be read or believed."""
    try:
        _, data = _read(source, ())
    except OSError as error:
        raise PlumblineError(f"{source}: {error.strerror}") from error
    try:
        return _take_copy(path, data)
    except (TryLaterError, DamagedError):
        raise
    except PlumblineError as error:
        raise PlumblineError(f"{source}: {error}") from error


def _read(source: Path, known: Collection[SpoolFile]) -> tuple[SpoolFile, bytes]:
    """Return a regular file that is no link, and its bytes; no bytes of a file that is known.
    Raises OSError for all others, and for a file that is too long."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW
    with os.fdopen(os.open(source, flags), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        identity = (source.name, facts.st_size, facts.st_mtime_ns)
        data = b"" if identity in known else file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it is longer than {MOST_BYTES} bytes")
    return identity, data


def _take_copy(path: Path, data: bytes) -> list[Moved]:
    """Import a copy that nobody else can change while it is read."""
    with scratch.folder() as private:
        copy = private / f"copy{SUFFIX}"
        copy.write_bytes(data)
        try:
            return transfer.take(path, copy)
        except TryLaterError:
            raise
        except DamagedError as error:
            if error.path != copy:
                raise
            raise PlumblineError(f"the file is damaged ({error.why})") from error
        except PlumblineError as error:
            raise PlumblineError(str(error).replace(str(copy), "the file")) from error
