"""Files that a user names: only regular files are read. A pipe or a terminal may never answer, and
a device such as /dev/zero may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 1 << 30

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_file(path: Path | str) -> BinaryIO:
    """Open `path` for reading, without waiting. Raises OSError, also for all but a regular file."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            what = f"it is {_KINDS.get(stat.S_IFMT(mode), 'no file')}, not a regular file"
            raise OSError(errno.EINVAL, what, str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read(path: Path | str, most: int = MOST_BYTES) -> bytes:
    """Return all bytes of a regular file. Raises OSError, also for more than `most` bytes: files of
    /proc can be endless."""
    with open_file(path) as file:
        data = file.read(min(most, max(os.fstat(file.fileno()).st_size, 1 << 20)) + 1)
        while (more := file.read(1 << 20)) and len(data) <= most:
            data += more
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most} bytes", str(path))
    return data


def text(path: Path | str, errors: str = "strict") -> str:
    """Return the text of a regular file in UTF-8, with line ends as `\\n`. Raises OSError, and
    ValueError for bytes that are no UTF-8."""
    decoded = read(path).decode("utf-8", errors)
    return decoded.replace("\r\n", "\n").replace("\r", "\n")
