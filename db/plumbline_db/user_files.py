"""The file system that a file lies on, by the kernel's list of mounts (proc(5),
/proc/PID/mountinfo). Whether several hosts share it can be told by its name alone."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

# Files that a user names: only regular files are read. A pipe or a terminal may never answer, and a
# device such as /dev/zero may never end.

_MOST_BYTES = 1 << 30

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


def read(path: Path | str, most: int = _MOST_BYTES) -> bytes:
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


MOUNTS = Path("/proc/self/mountinfo")

_SHARED = frozenset(
    (
        *("nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "smbfs", "ceph", "afs"),
        *("pvfs2", "panfs", "wekafs", "gfs", "gfs2", "ocfs2", "acfs", "davfs", "9p", "virtiofs"),
    )
)
# File systems served by a program (fuse.NAME) that fetch data over a network.
_SERVED = re.compile(
    r"fuse\.(sshfs|glusterfs|ceph.*|juicefs|s3fs|rclone|davfs.*|gcsfuse|goofys|curlftpfs|smb.*"
    r"|nfs.*|mfs|moosefs|seaweedfs|dfuse|daos|quobyte)\Z"
)


def network(path: Path) -> str | None:
    """The name of the network file system that `path` lies on, or will; None: on none, as far as
    is known."""
    try:
        kind = _kind(path.resolve(), MOUNTS.read_text(errors="surrogateescape"))
    except OSError:
        return None
    return kind if kind in _SHARED or _SERVED.match(kind) else None


def _kind(path: Path, mounts: str) -> str:
    """Return the kind of the mount that is in force for a path: the deepest, of several there the
    last."""
    deepest, kind = -1, ""
    for line in mounts.splitlines():
        words = line.split(" ")
        place = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), words[4]))
        if path.is_relative_to(place) and len(place.parts) >= deepest:
            deepest, kind = len(place.parts), words[words.index("-") + 1]
    return kind
