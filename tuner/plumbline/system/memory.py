"""Main memory: what is available on this host, and what a process takes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_SHARED = Path("/dev/shm")  # noqa: S108 - where MPI libraries put memory that ranks share
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that processes can still get: of the host, and of the control group where it has a
    limit."""
    free = _of_table(Path("/proc/meminfo"), "MemAvailable:")
    limit = _CONTROL_GROUP / "memory.max"
    with contextlib.suppress(OSError, ValueError):
        of_group = int(limit.read_text()) - int((_CONTROL_GROUP / "memory.current").read_text())
        free = min(free, max(0, of_group))
    return free


def of_process(pid: int) -> int:
    """Bytes of main memory that a process takes; of pages that several share, its part. 0 where the
    process has ended."""
    try:
        return _of_table(Path(f"/proc/{pid}/smaps_rollup"), "Pss:")
    except OSError:
        return 0


def shared_is_half_empty() -> bool:
    """Return whether half of the memory that processes may share by name is free."""
    try:
        facts = os.statvfs(_SHARED)
    except OSError:
        return True
    return 2 * facts.f_bavail >= facts.f_blocks


def _of_table(file: Path, name: str) -> int:
    """The value of a line `name` in kB of a file of /proc, in bytes."""
    for line in file.read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    return 0
