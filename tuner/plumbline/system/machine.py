"""Facts about the machine this process runs on, as far as results depend on them; and processor
time that other programs take on this host, with their names, as far as the kernel shows them to
this user."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import pwd
import socket
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

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


_SHOWN = 3  # programs that a message names
_LEAST = 0.05  # of a processor, below which a program is not named
_LONGEST_NAME = 40  # characters

Process = tuple[int, int]  # its id and when it began, as ids are used again


class ProcessorTimes(msgspec.Struct, frozen=True):
    """Seconds of processor time since the host and its processes began. `busy_seconds` None: the
    kernel does not show it. `own_seconds`: of this process and of its children that have ended."""

    at_seconds: float
    busy_seconds: float | None
    stolen_seconds: float
    own_seconds: float
    of_processes: dict[Process, float] = {}


class Others(msgspec.Struct, frozen=True):
    """Processor time of others between two readings, in processors, with that of the hypervisor;
    and the programs that took most of it, each with its part."""

    processors: float
    programs: list[tuple[str, float]] = []

    def text(self) -> str:
        """`1.9 processors are busy with other work: python3 (process 12, user anna) 0.98, …`."""
        visible = sum(part for _, part in self.programs)
        named = [f"{name} {part:.2f}" for name, part in self.programs[:_SHOWN]]
        if self.processors - visible > max(_LEAST, self.processors / 2):
            named.append("programs that this user cannot see, or the hypervisor")
        words = f"{self.processors:.1f} processors are busy with other work"
        return f"{words}: {', '.join(named)}" if named else words


def look(seconds: float = 1.0) -> Others | None:
    """Return the processor time of others during the next `seconds`; None where the kernel does not
    show it."""
    before = read()
    time.sleep(seconds)
    return others(before, read(), named)


def others(
    before: ProcessorTimes, after: ProcessorTimes, named: Callable[[int], str]
) -> Others | None:
    """Return the processor time of others between two readings; None where the kernel does not show
    it. `named` describes a process by its id."""
    wall = after.at_seconds - before.at_seconds
    if before.busy_seconds is None or after.busy_seconds is None or wall <= 0:
        return None
    seconds = after.busy_seconds - before.busy_seconds
    seconds += after.stolen_seconds - before.stolen_seconds
    seconds -= after.own_seconds - before.own_seconds
    parts = [
        (pid, (spent - before.of_processes.get((pid, began), 0.0)) / wall)
        for (pid, began), spent in after.of_processes.items()
    ]
    most = sorted((part for part in parts if part[1] >= _LEAST), key=lambda part: -part[1])
    return Others(max(0.0, seconds / wall), [(named(pid), part) for pid, part in most])


def read(proc: Path = Path("/proc")) -> ProcessorTimes:
    """Return the seconds of now."""
    tick = 1 / os.sysconf("SC_CLK_TCK")
    own = os.times()
    busy, stolen = None, 0.0
    with contextlib.suppress(OSError, ValueError):
        first = (proc / "stat").read_text().partition("\n")[0].split()
        user, nice, kernel, _, _, irq, softirq, steal = map(int, first[1:9])
        busy, stolen = tick * (user + nice + kernel + irq + softirq), tick * steal
    return ProcessorTimes(time.monotonic(), busy, stolen, sum(own[:4]), _of_processes(proc, tick))


def named(pid: int, proc: Path = Path("/proc")) -> str:
    """Return `sh (process 123, user root)`. The name is the program's own choice, so that only
    printable characters of it are kept."""
    name, owner = "a program", ""
    with contextlib.suppress(OSError):
        name = (proc / str(pid) / "comm").read_text(errors="replace").rstrip("\n")
        uid = (proc / str(pid)).stat().st_uid
        owner = f", user {uid}"
        with contextlib.suppress(KeyError):
            owner = f", user {pwd.getpwuid(uid).pw_name}"
    shown = "".join(sign if sign.isprintable() else "?" for sign in name[:_LONGEST_NAME])
    return f"{shown} (process {pid}{owner})"


def _of_processes(proc: Path, tick: float) -> dict[Process, float]:
    """Return the seconds of all visible processes but this one."""
    seconds_by_process: dict[Process, float] = {}
    for entry in proc.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            seconds_by_process[int(entry.name), int(fields[19])] = tick * (
                int(fields[11]) + int(fields[12])
            )
    return seconds_by_process
