"""The allocation of a scheduler around this process (Slurm, PBS, LSF or Flux): its hosts, and the
launcher that starts ranks on them. Ranks go there when no table of a campaign file names another
place.

Slurm's was tried in real allocations; the others are written after their manuals."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.core.reach import Hosts
from plumbline.core.unmeasured import Unmeasured
from plumbline.libraries import Family, Installation, into_ranks
from plumbline.libraries.into_ranks import for_ranks
from plumbline.system import machine, process
from plumbline.system.placement import Placement
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError, UsageError, command_name
from plumbline_db.records import Machine

from . import Job, Launcher, launcher
from .hosts import OnHosts, is_here, machine_of

IGNORED = "PLUMBLINE_ALLOCATION"  # set to `ignore`: ranks are started here
_ANSWER_SECONDS = 30.0
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?\Z")
_COUNT = re.compile(r"0*[1-9][0-9]{0,8}")
_MOST_HOSTS = 100_000
_MOST_BRACKETS = 20
_LAUNCH_NODE = re.compile(r"batch|launch|login|service|mom")
_FLUX_RESOURCES = (
    *("flux", "resource", "list", "--states=all", "--no-header"),
    "--format={nnodes}|{ncores}|{nodelist}",
)
# The script is called like ssh: a host, then words for a shell on that host.
_SHELL = 'host=$1; shift; exec {start} /bin/sh -c "$*"'
_STEP = "srun --overlap --cpu-bind=none --mem=0 --nodes=1 --ntasks=1 --ntasks-per-node=1"
_AGENTS = {
    "Slurm": ("srun", f'{_STEP} --nodelist="$host"'),
    "PBS": ("pbs_tmrsh", 'pbs_tmrsh "$host"'),
    "LSF": ("blaunch", 'blaunch "$host"'),
}
# This starts a separate job in the surrounding Flux instance; it is used for queries only.
_BY_FLUX = 'flux run --nodes=1 --ntasks=1 --requires="host:$host"'

_BINDS = {"core": "cores", "socket": "sockets", "numa": "ldoms", "none": "none"}
_MAPS = {"core": "block:block", "socket": "block:cyclic", "node": "cyclic"}


class JobTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `job` of a campaign file: ranks run in an allocation of a scheduler.

    queue (Slurm's partition), account, constraint, minutes (the time limit; 0: the scheduler's):
    what --submit asks for. exclusive: nobody else on the nodes. options: more options of sbatch,
    qsub, flux batch or bsub. setup: shell text that goes into the job's script as it is. folder: a
    folder that all nodes see, for plans and records (empty: `jobs` beside the database). start:
    what starts the ranks: mpirun (the library's own), srun or flux; not given: flux in Flux, else
    mpirun. mpi: the type for `srun --mpi`."""

    queue: str = ""
    account: Unmeasured[str] = ""
    constraint: str = ""
    minutes: Unmeasured[int] = 0
    exclusive: bool = True
    options: tuple[str, ...] = ()
    setup: str = ""
    folder: Unmeasured[str] = ""
    start: Literal["mpirun", "srun", "flux"] | None = None
    mpi: str = ""

    def __post_init__(self) -> None:
        for key in ("queue", "account", "constraint", "mpi"):
            if re.search(r"^-|[\s\x00-\x1f]", getattr(self, key)):
                raise ValueError(f"{key} = {getattr(self, key)!r}: it must be one word")
        if not 0 <= self.minutes <= 525_600:
            raise ValueError(f"minutes = {self.minutes}: it must be 1 to 525600, or 0")
        for option in self.options:
            if not re.match(r"-[^\x00-\x1f]+\Z", option):
                raise ValueError(
                    f"options: {option!r} is not an option (--name=value, or -x value)"
                )
        if (self.start == "srun") != bool(self.mpi):
            raise ValueError('mpi needs start = "srun": it is the type for srun --mpi')
        if self.folder and not Path(self.folder).is_absolute():
            raise ValueError(f"folder: {self.folder!r} must be the whole path, for all nodes")


class Allocation(msgspec.Struct, frozen=True):
    """`slots`: ranks that each of the hosts has room for, at least. `queue`: what the nodes are
    nodes of, in the scheduler's words."""

    scheduler: str
    hosts: list[str]
    slots: int
    queue: str = ""

    @property
    def is_here(self) -> bool:
        """This host alone: ranks are started as without an allocation."""
        (first, *more) = self.hosts
        return not more and is_here(first)

    def keys(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the keys of a campaign file that put ranks there beside those that are `given`:
        one rank a slot, or as many as are given, as many on each host, on as many hosts as that
        allows."""
        nodes, nprocs = given.get("nodes"), given.get("nprocs")
        keys: dict[str, object] = {} if "job" in given else {"job": {}}
        if not nprocs:
            count = nodes if isinstance(nodes, int) else len(self.hosts)
            keys |= {"nodes": count} if nodes is None else {}
            return keys | {"nprocs": max(2, count * self.slots)}
        if nodes is None and isinstance(nprocs, int) and nprocs > 0:
            most = max(n for n in range(1, len(self.hosts) + 1) if nprocs % n == 0)
            return keys | {"nodes": most}
        return keys


class InAllocation(OnHosts):
    """Ranks on the hosts of the allocation around this process. Nodes of one queue that have the
    same processors are one machine: the next job may get others of them."""

    name = "allocation"

    def __init__(self, table: JobTable, around: Allocation | None, beside: Path) -> None:
        self._table = table
        self._around = around
        self._starter = starter_of(table, around)
        self._mpi_type_is_known = False
        names = around.hosts if around else [socket.gethostname()]
        super().__init__(Hosts(names=names, agent=self._agent_words(), folder=table.folder), beside)

    @property
    def by_mpirun(self) -> bool:
        """Ranks are started by the library's mpirun, not by the scheduler's own command."""
        return self._starter == "mpirun"

    def machine(self, placement: Placement) -> Machine:
        """Return the nodes' machine; outside of an allocation, this one."""
        if self._around is None:
            return machine.this_machine()
        facts_of_nodes = self._facts[: placement.nodes]
        kinds = sorted({f"{facts.processing_units} {facts.cpu_model}" for facts in facts_of_nodes})
        shown = self._around.queue or self._around.scheduler
        return machine_of(shown, [self._around.scheduler, shown, *kinds], facts_of_nodes)

    def processing_units(self) -> int | None:
        """Raises UsageError outside of an allocation: no ranks can be started there."""
        if self._around is None:
            raise UsageError(
                "these ranks run in an allocation of a scheduler, and this process is in none: "
                f"`{command_name()} campaign … --submit slurm` (pbs, flux, lsf) submits a job that "
                "holds a campaign; other commands belong into a job, or into salloc, qsub -I, bsub "
                "-Is or flux alloc"
            )
        return super().processing_units()

    def command(
        self, family: Family, installation: Installation, job: Job
    ) -> tuple[list[str], dict[str, str]]:
        if self.by_mpirun and self._around is not None and self._around.is_here:
            words = [str(installation.mpirun), *family.words(job.placement), *job.program]
            return words, job.environment
        if self.by_mpirun:
            words, environment = super().command(family, installation, job)
            # An mpirun with Slurm support starts its daemons with its own srun.
            return words, {"SLURM_OVERLAP": "1"} | environment
        # mpirun would pass these variables only to the ranks.
        of_ranks = [f"{name}={value}" for name, value in for_ranks(job.extra).items()]
        if self._starter == "flux":
            variables = [f"--env={variable}" for variable in of_ranks]
            return [*_flux_words(job.placement), *variables, *job.program], job.environment
        self._require_mpi_type()
        words = self._srun_words(job.placement)
        # Variables in an exported file's list are passed on; otherwise the whole environment is.
        listed = {into_ranks.SRUN_LIST: job.extra.get(into_ranks.SRUN_LIST, "ALL")}
        in_front = ["env", *of_ranks] if of_ranks else []
        return [*words, *in_front, *job.program], job.environment | listed

    def _srun_words(self, place: Placement) -> list[str]:
        """Return a step beside the others of the job, whose first rank has the standard input."""
        words = ["srun", f"--mpi={self._table.mpi}", "--overlap", "--mem=0", "--input=0"]
        words += ["--kill-on-bad-exit=1", f"--nodes={place.nodes}", f"--ntasks={place.nprocs}"]
        words += [f"--ntasks-per-node={place.ppn}"]
        if place.nodes < len(self._hosts.names):
            words += [f"--nodelist={','.join(self._hosts.names[: place.nodes])}"]
        if place.oversubscribed:
            words += ["--overcommit"]
        if place.binding:  # else as the site has it (TaskPlugin, TaskPluginParam)
            words += [f"--cpu-bind={_BINDS[place.binding]}"]
        if place.map_by:
            if place.map_by not in _MAPS:
                raise PlumblineError(f"srun cannot map ranks by {place.map_by}: {', '.join(_MAPS)}")
            words += [f"--distribution={_MAPS[place.map_by]}"]
        return words

    def _require_mpi_type(self) -> None:
        if self._mpi_type_is_known:
            return
        done = process.run(["srun", "--mpi=list"], timeout_seconds=_ANSWER_SECONDS)
        answer = " ".join((done.stdout + " " + done.stderr).split())
        if self._table.mpi not in answer.split():
            raise PlumblineError(f"srun has no --mpi={self._table.mpi}; it says: {answer}")
        self._mpi_type_is_known = True

    def _agent_words(self) -> list[str]:
        """Return what starts a command on a host: the scheduler's own command, or ssh."""
        command, start = _AGENTS.get(self._around.scheduler if self._around else "", ("", ""))
        if self._starter == "flux":
            command, start = "flux", _BY_FLUX
        if not command or not shutil.which(command):
            return ["ssh"]
        return ["/bin/sh", "-c", _SHELL.format(start=start), "agent"]


class StaysInAllocation(InAllocation):
    """The same with ranks that can stay alive: several steps of one job share its processors."""

    start_command = InAllocation.command


@launcher("allocation", table=JobTable)
def in_allocation(table: JobTable, beside: Path) -> Launcher:
    """Return the launcher of the allocation around this process. Jobs of Flux in a job share no
    processors, so that ranks that stay alive would keep others from starting."""
    around = found()
    if starter_of(table, around) == "flux":
        return InAllocation(table, around, beside)
    return StaysInAllocation(table, around, beside)


def starter_of(table: JobTable, around: Allocation | None) -> str:
    """Return what starts the ranks: mpirun, srun or flux."""
    usual = "flux" if around is not None and around.scheduler == "Flux" else "mpirun"
    return table.start or usual


def _flux_words(place: Placement) -> list[str]:
    if place.binding not in ("", "core", "none") or place.map_by:
        raise PlumblineError(
            'flux run binds to core or none, and maps as it does: start = "mpirun"'
        )
    words = ["flux", "run", f"--nodes={place.nodes}", f"--ntasks={place.nprocs}"]
    if place.binding:  # else as the site has it
        affinity = "per-task" if place.binding == "core" else "off"
        words += [f"--setopt=cpu-affinity={affinity}"]
    return words


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
    tasks_per_node = (
        environment.get("SLURM_TASKS_PER_NODE") if "SLURM_NTASKS" in environment else None
    )
    counts = tasks_per_node or environment.get("SLURM_JOB_CPUS_PER_NODE") or "1"
    cluster, partition = (
        environment.get(name, "?") for name in ("SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION")
    )
    queue = f"{cluster}, partition {partition}"
    return Allocation("Slurm", expanded(text), min(_counts(counts)), queue)


def _pbs(environment: Mapping[str, str]) -> Allocation | None:
    """A file with a line for each slot."""
    path = environment.get("PBS_NODEFILE")
    if not path:
        return None
    try:
        names = user_files.text(path).split()
    except (OSError, ValueError) as error:
        raise UsageError(f"PBS_NODEFILE names {path}, which cannot be read: {error}") from error
    counts = Counter(names)
    queue = f"PBS, queue {environment.get('PBS_QUEUE', '?')}"
    return Allocation("PBS", list(counts), min(counts.values()), queue) if counts else None


def _lsf(environment: Mapping[str, str]) -> Allocation | None:
    """`host slots host slots …`. A job's script may run on a node of its own, which comes first
    with one slot and has no ranks: its name shows it, and jobs of CSM always have such a node."""
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if not words:
        return None
    slots = words[1::2]
    if len(words) % 2 or not all(map(_COUNT.fullmatch, slots)):
        raise UsageError(f"LSB_MCPU_HOSTS = {' '.join(words)!r}: hosts, each with its slots")
    has_launch_node = "CSM_ALLOCATION_ID" in environment or _LAUNCH_NODE.match(words[0])
    if len(slots) > 1 and slots[0] == "1" and has_launch_node:
        words, slots = words[2:], slots[1:]
    names = list(dict.fromkeys(words[::2]))
    queue = f"LSF, queue {environment.get('LSB_QUEUE', '?')}"
    return Allocation("LSF", names, min(map(int, slots)), queue)


def _flux(environment: Mapping[str, str]) -> Allocation | None:
    """Return the allocation of the instance around this process, where that is itself a job of
    Flux."""
    if not environment.get("FLUX_URI") or not environment.get("FLUX_ENCLOSING_ID"):
        return None
    done = process.run(_FLUX_RESOURCES, timeout_seconds=_ANSWER_SECONDS, environment=environment)
    for line in done.stdout.splitlines():
        nodes, cores, names = (*line.strip().split("|", 2), "", "")[:3]
        if _COUNT.fullmatch(nodes) and _COUNT.fullmatch(cores):
            return Allocation("Flux", expanded(names), max(1, int(cores) // int(nodes)))
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
    if part.count("[") > _MOST_BRACKETS:
        raise UsageError(f"{part[:60]!r} is no list of hosts")
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
    """Return the counts of nodes, as Slurm writes them: `4(x2),3`."""
    counts = re.findall(r"([0-9]+)(?:\(x[0-9]+\))?(?:,|\Z)", text)
    if not counts or not all(map(_COUNT.fullmatch, counts)):
        raise UsageError(f"{text!r}: tasks of each node, as in 4(x2),3")
    return [int(count) for count in counts]
