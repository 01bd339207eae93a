"""The hosts of the allocation around this process, as its scheduler says them: Slurm, PBS, LSF or
Flux. Ranks go there when no campaign file says where they go.

Slurm's was tried in a real allocation; the others are written after their manuals."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from plumbline.launch import hosts as several_hosts
from plumbline.launch.flux import RESOURCES, resources
from plumbline.system import process
from plumbline_db import regular
from plumbline_db.errors import UsageError

IGNORED = "PLUMBLINE_ALLOCATION"  # set to `ignore`: ranks are started here
_ANSWER_SECONDS = 30.0
_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")
_MOST_HOSTS = 100_000
# Called as ssh is: a host, then words that a shell there reads.
_SHELL = 'host=$1; shift; exec {start} /bin/sh -c "$*"'
_AGENTS = {
    "Slurm": ("srun", 'srun --overlap --nodes=1 --ntasks=1 --nodelist="$host"'),
    "PBS": ("pbs_tmrsh", 'pbs_tmrsh "$host"'),
    "LSF": ("blaunch", 'blaunch "$host"'),
}


class Allocation(msgspec.Struct, frozen=True):
    """`slots`: ranks that each of the hosts has room for, at least."""

    scheduler: str
    hosts: list[str]
    slots: int

    @property
    def is_here(self) -> bool:
        """This host alone: ranks are started as without an allocation."""
        own = socket.gethostname().partition(".")[0]
        (first, *more) = self.hosts
        return not more and (first.partition(".")[0] == own or several_hosts.is_here(first))

    def keys(self, given: Mapping[str, object]) -> dict[str, object]:
        """Keys of a campaign file that put ranks there: one a slot, or as many as are `given`, as
        many on each host, on as many hosts as that allows."""
        command, start = _AGENTS.get(self.scheduler, ("", ""))
        table: dict[str, object] = {"names": self.hosts}
        if command and shutil.which(command):
            table["agent"] = ["/bin/sh", "-c", _SHELL.format(start=start), "agent"]
        nodes, nprocs = given.get("nodes"), given.get("nprocs")
        if not nprocs:
            count = nodes if isinstance(nodes, int) else len(self.hosts)
            return {"hosts": table, "nprocs": max(2, count * self.slots)}
        if nodes is None and isinstance(nprocs, int) and nprocs > 0:
            most = max(n for n in range(1, len(self.hosts) + 1) if nprocs % n == 0)
            return {"hosts": table, "nodes": most}
        return {"hosts": table}


def found(environment: Mapping[str, str] = os.environ) -> Allocation | None:
    """None outside of one. Raises UsageError where its scheduler's words are not understood."""
    if environment.get(IGNORED) == "ignore":
        return None
    for read in (_slurm, _pbs, _lsf, _flux):
        allocation = read(environment)
        if allocation is not None:
            return allocation
    return None


def _slurm(environment: Mapping[str, str]) -> Allocation | None:
    text = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST")
    if not text:
        return None
    asked = environment.get("SLURM_TASKS_PER_NODE") if "SLURM_NTASKS" in environment else None
    counts = asked or environment.get("SLURM_JOB_CPUS_PER_NODE") or "1"
    return Allocation("Slurm", expanded(text), min(_counts(counts)))


def _pbs(environment: Mapping[str, str]) -> Allocation | None:
    """A file with a line for each slot."""
    path = environment.get("PBS_NODEFILE")
    if not path:
        return None
    try:
        names = regular.text(path).split()
    except (OSError, ValueError) as error:
        raise UsageError(f"PBS_NODEFILE names {path}, which cannot be read: {error}") from error
    counts = Counter(names)
    return Allocation("PBS", list(counts), min(counts.values())) if counts else None


def _lsf(environment: Mapping[str, str]) -> Allocation | None:
    """`host slots host slots …`."""
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if not words:
        return None
    slots = words[1::2]
    if len(words) % 2 or not all(word.isdigit() and int(word) for word in slots):
        raise UsageError(f"LSB_MCPU_HOSTS = {' '.join(words)!r}: hosts, each with its slots")
    names = list(dict.fromkeys(words[::2]))
    return Allocation("LSF", names, min(map(int, slots)))


def _flux(environment: Mapping[str, str]) -> Allocation | None:
    """Of the instance around this process, where that is itself a job of Flux."""
    if not environment.get("FLUX_URI") or not environment.get("FLUX_ENCLOSING_ID"):
        return None
    done = process.run(RESOURCES, timeout_seconds=_ANSWER_SECONDS, environment=environment)
    if there := resources(done.stdout):
        nodes, cores, names = there
        return Allocation("Flux", expanded(names), max(1, cores // nodes))
    raise UsageError(
        f"FLUX_URI is set, but flux resource list shows no nodes: {done.stderr.strip()[-200:]}; "
        f"{IGNORED}=ignore starts ranks here"
    )


def expanded(text: str) -> list[str]:
    """Hosts of a list as Slurm and Flux write it: `n[1-3,07],login,r[1-2]n[1-2]`."""
    names: list[str] = []
    for part in _parts(text):
        names += _hosts(part)
        if len(names) > _MOST_HOSTS:
            raise UsageError(f"{text[:60]!r}: more than {_MOST_HOSTS} hosts")
    return list(dict.fromkeys(names))


def _parts(text: str) -> Iterator[str]:
    """Between commas that no brackets are around."""
    start = depth = 0
    for place, letter in enumerate(text + ","):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if depth not in (0, 1):
            raise UsageError(f"{text[:60]!r} is no list of hosts")
        if letter == "," and depth == 0:
            if text[start:place]:
                yield text[start:place]
            start = place + 1
    if depth:
        raise UsageError(f"{text[:60]!r} is no list of hosts")


def _hosts(part: str) -> list[str]:
    before, bracket, rest = part.partition("[")
    if not bracket:
        return [part]
    inside, _, after = rest.partition("]")
    numbers: list[str] = []
    for word in inside.split(","):
        match = _RANGE.match(word)
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if not 0 <= int(last) - int(first) < _MOST_HOSTS:
            raise UsageError(f"{part[:60]!r} is no list of hosts")
        numbers += [f"{n:0{len(first)}}" for n in range(int(first), int(last) + 1)]
    endings = _hosts(after)
    if len(numbers) * len(endings) > _MOST_HOSTS:
        raise UsageError(f"{part[:60]!r}: more than {_MOST_HOSTS} hosts")
    return [before + number + ending for number in numbers for ending in endings]


def _counts(text: str) -> list[int]:
    """Of nodes, as Slurm writes them: `4(x2),3`."""
    counts = re.findall(r"(\d+)(?:\(x\d+\))?(?:,|\Z)", text)
    if not counts or "0" in counts:
        raise UsageError(f"{text!r}: tasks of each node, as in 4(x2),3")
    return [int(count) for count in counts]
