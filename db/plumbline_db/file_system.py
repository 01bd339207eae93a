"""The file system that a file lies on, by the kernel's list of mounts (proc(5),
/proc/PID/mountinfo). Whether several hosts share it can be told by its name alone."""

from __future__ import annotations

import re
from pathlib import Path

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
