"""Facts about the machine this process runs on, as far as results depend on them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import socket
from pathlib import Path

from plumbline.system.readback import units as units_of
from plumbline_db.records import Machine


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
