"""Facts about the machine this process runs on, as far as results depend on them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import socket
from pathlib import Path

from plumbline.system.placement import units as units_of
from plumbline_db.records import Machine

_SHARED = Path("/dev/shm")  # noqa: S108 - where MPI libraries put memory that ranks share
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Bytes that processes can still get: of the host, and of the control group where it has a
    limit."""
    free = _of_table(Path("/proc/meminfo"), "MemAvailable:")
    limit = _CONTROL_GROUP / "memory.max"
    with contextlib.suppress(OSError, ValueError):
        of_group = int(limit.read_text()) - int((_CONTROL_GROUP / "memory.current").read_text())
        free = min(free, max(0, of_group))
    return free


def memory_of_process(pid: int) -> int:
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


def this_machine() -> Machine:
    host, model, units = socket.gethostname(), _cpu_model(), processing_units()
    numa_nodes = max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))
    identity = "\n".join(map(str, (host, model, units, numa_nodes)))
    return Machine(
        id=hashlib.sha256(identity.encode()).hexdigest()[:16],
        host=host,
        cpu_model=model,
        processing_units=units,
        numa_nodes=numa_nodes,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        system=_system(),
    )


def processing_units() -> int:
    """Processing units this process may use (affinity and cpusets counted)."""
    return len(os.sched_getaffinity(0))


_DOMAINS = {
    "core": "cpu/cpu[0-9]*/topology/thread_siblings_list",
    "socket": "cpu/cpu[0-9]*/topology/core_siblings_list",
    "numa": "node/node[0-9]*/cpulist",
}


def domains(system: Path = Path("/sys/devices/system")) -> dict[str, list[frozenset[int]]]:
    """The processing units of each core, socket and NUMA node, as far as the kernel says."""
    domains_by_kind: dict[str, list[frozenset[int]]] = {}
    for name, pattern in _DOMAINS.items():
        texts = set()
        for file in system.glob(pattern):
            with contextlib.suppress(OSError):
                texts.add(file.read_text())
        domains_by_kind[name] = sorted(filter(None, map(units_of, texts)), key=sorted)
    return domains_by_kind


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()
