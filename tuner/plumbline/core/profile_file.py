"""A profile of an application, whoever wrote it: `plumbline profile`, mpiP, mpisee, or Score-P."""

from __future__ import annotations

from pathlib import Path

from plumbline.core import application, cubex, mpip, mpisee, scorep
from plumbline.core.application import Application
from plumbline_db import mpisee as seen
from plumbline_db import regular, schema
from plumbline_db.errors import UsageError

MOST_BYTES = 256 * 2**20


def read(path: Path) -> Application:
    """Raises UsageError where the file is none of them."""
    try:
        with regular.open_file(path) as file:
            first = file.read(4096)
            head = first.lstrip()
            is_cube = first.startswith(cubex.GZIP) or first[257:262] == cubex.TAR
            whole = is_cube or head.startswith(mpip.MARK.encode())
            rest = file.read(MOST_BYTES) if whole else b""
            beyond = file.read(1)
    except OSError as error:
        raise UsageError(f"cannot read the profile {path}: {error.strerror}") from error
    if schema.is_database(path):
        return mpisee.application(seen.read(path))
    if not whole:
        return application.read(path)
    if rest and beyond:
        raise UsageError(f"profile {path}: larger than {MOST_BYTES // 2**20} MiB")
    try:
        if is_cube:
            return scorep.read(first + rest)
        return mpip.read((head + rest).decode("utf-8", errors="replace"))
    except UsageError as error:
        raise UsageError(f"profile {path}: {error}") from error
