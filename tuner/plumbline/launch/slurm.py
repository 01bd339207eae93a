"""Ranks on a cluster that Slurm runs: a launch is a job (sbatch), launches that go together are the
tasks of one array. How a job ended is asked of sacct first, where there is accounting, then of
squeue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from plumbline.core.unmeasured import Unmeasured
from plumbline.libraries import Family, Installation
from plumbline.libraries.into_ranks import for_ranks
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher
from .batch import COMMAND_SECONDS, Queue, SchedulerTable, ask, machine_of, refuse_all_but_words
from .job_files import KILL_SECONDS, Submission
from .under_way import JobState, Kind

REMEMBERS_SECONDS = 60.0  # MinJobAge is five minutes, where nobody has changed it

ARRAY_INDEX = "SLURM_ARRAY_TASK_ID"

# Options of sbatch that Plumbline sets itself, or that would take a job out of its hands.
_OURS = {"job-name", "output", "error", "array", "export", "export-file", "nodes", "ntasks", "time"}
_OURS |= {"ntasks-per-node", "partition", "account", "qos", "constraint", "nodelist", "exclusive"}
_OURS |= {"overcommit", "requeue", "no-requeue", "chdir", "wrap", "parsable", "wait", "test-only"}
_OURS |= {"input", "open-mode", "help", "usage", "version"}
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(=[^\x00-\x1f]+)?\Z")

# What is not here is alive, or on its way out.
_KINDS: dict[str, Kind] = {
    "COMPLETED": "ended",
    "FAILED": "ended",
    "OUT_OF_MEMORY": "ended",
    "CANCELLED": "cancelled",
    "TIMEOUT": "timed out",
    "DEADLINE": "timed out",
    "NODE_FAIL": "interrupted",
    "BOOT_FAIL": "interrupted",
    "LAUNCH_FAILED": "interrupted",
    "PREEMPTED": "interrupted",
    "REVOKED": "interrupted",
}

_BINDS = {"core": "cores", "socket": "sockets", "numa": "ldoms", "none": "none"}
_MAPS = {"core": "block:block", "socket": "block:cyclic", "node": "cyclic"}


class SlurmTable(SchedulerTable, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `slurm` of a campaign file: what all tables of schedulers have, and

    partition, account, qos, constraint, nodelist: as sbatch takes them. start: what starts the
    ranks inside the job; mpi: the type for `srun --mpi`. sbatch: more options, as in
    `--reservation=x`."""

    partition: str = ""
    account: Unmeasured[str] = ""
    qos: Unmeasured[str] = ""
    constraint: str = ""
    nodelist: str = ""
    start: Literal["mpirun", "srun"] = "mpirun"
    mpi: str = ""
    sbatch: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_all_but_words(self, "partition", "account", "qos", "constraint", "nodelist", "mpi")
        if (self.start == "srun") != bool(self.mpi):
            raise ValueError('mpi goes with start = "srun": the type that srun --mpi is given')
        for option in self.sbatch:
            found = _OPTION.match(option)
            if found is None:
                raise ValueError(f"sbatch: {option!r} is no option: --name or --name=value")
            if found[1] in _OURS:
                raise ValueError(f"sbatch: --{found[1]} is set from the other keys")


@launcher("slurm", table=SlurmTable)
class Slurm(Queue[SlurmTable]):
    name = "slurm"
    index = ARRAY_INDEX
    remembers_seconds = REMEMBERS_SECONDS
    # With `sbatch --export=NONE` srun, also that of mpirun, would pass on nothing.
    preamble = ("export SLURM_EXPORT_ENV=ALL",)

    def __init__(self, table: SlurmTable, beside: Path) -> None:
        super().__init__(table, beside)
        self._accounting = True
        self._mpi_type_is_known = False
        self.nodes_may_differ = not table.nodelist

    # --- the machine ----------------------------------------------------------------------------

    def machine(self, placement: Placement) -> Machine:
        """Cluster, partition and types of node. Slurm knows no model of processors; sites say it
        by features."""
        del placement
        configuration = ask("scontrol", "show", "config")
        cluster, version = (
            _field(configuration, name) for name in ("ClusterName", "SLURM_VERSION")
        )
        self.remembers_seconds = remembered(configuration)
        types = sorted({node.type for node in self._nodes()})
        first = self._nodes()[0]
        what = ("partition", self.table.partition or first.partition)
        where = " ".join(what) + "".join(
            f", {key} {value}"
            for key, value in (
                ("constraint", self.table.constraint),
                ("nodes", self.table.nodelist),
            )
            if value
        )
        return machine_of(
            [cluster, where, *types],
            host=f"{cluster}, {where}",
            cpu_model="; ".join(types),
            processing_units=min(node.cpus for node in self._nodes()),
            memory_bytes=min(node.memory_mib for node in self._nodes()) * 2**20,
            system=f"Slurm {version}",
        )

    def processing_units(self) -> int | None:
        return min(node.cpus for node in self._nodes())

    def _nodes(self) -> list[_Node]:
        """Those that a job may get, one at least."""
        options = [f"--partition={self.table.partition}"] if self.table.partition else []
        options += [f"--nodes={self.table.nodelist}"] if self.table.nodelist else []
        text = ask("sinfo", "--noheader", "--Node", *options, "--format=%P|%N|%c|%X|%Y|%Z|%m|%f")
        nodes = [_node(line) for line in text.splitlines() if line.count("|") == 7]
        default = [node for node in nodes if node.is_default]
        if not self.table.partition and default:
            nodes = default
        wanted = self.table.constraint
        if re.fullmatch(r"[\w.-]+", wanted):
            nodes = [node for node in nodes if wanted in node.features.split(",")]
        if not nodes:
            raise PlumblineError(
                "sinfo shows no node for partition, nodelist and constraint of the table [slurm]: "
                "`sinfo` says what there is"
            )
        return nodes

    # --- the job --------------------------------------------------------------------------------

    def words(self, family: Family, installation: Installation, job: Job) -> list[str]:
        if self.by_mpirun:
            return super().words(family, installation, job)
        if not self._mpi_type_is_known:
            self._require_mpi_type()
        place = job.placement
        words = ["srun", f"--mpi={self.table.mpi}", "--kill-on-bad-exit=1"]
        words += [f"--nodes={place.nodes}", f"--ntasks={place.nprocs}"]
        words += [f"--ntasks-per-node={place.ppn}"]
        if place.oversubscribed:
            words += ["--overcommit"]
        if place.binding:  # else as the site has it (TaskPlugin, TaskPluginParam)
            words += [f"--cpu-bind={_BINDS[place.binding]}"]
        if place.map_by:
            if place.map_by not in _MAPS:
                raise PlumblineError(f"srun cannot map ranks by {place.map_by}: {', '.join(_MAPS)}")
            words += [f"--distribution={_MAPS[place.map_by]}"]
        # mpirun would give these to the ranks alone; env does.
        ranks = [f"{name}={value}" for name, value in for_ranks(job.extra).items()]
        return [*words, *(["env", *ranks] if ranks else []), *job.program]

    def _require_mpi_type(self) -> None:
        done = process.run(["srun", "--mpi=list"], timeout_seconds=COMMAND_SECONDS)
        known = set((done.stdout + " " + done.stderr).split())
        if self.table.mpi not in known:
            said = " ".join((done.stdout + done.stderr).split())
            raise PlumblineError(f"srun has no --mpi={self.table.mpi}; it says: {said}")
        self._mpi_type_is_known = True

    def submit(self, script: Path, name: str, tasks: int, job: Job) -> list[str]:
        table, place = self.table, job.placement
        minutes = -(-(job.timeout_seconds + 2 * KILL_SECONDS) // 60) + 1
        words = ["sbatch", "--parsable", f"--job-name={name}", "--export=NONE", "--no-requeue"]
        words += [f"--chdir={job.folder}", "--output=/dev/null", "--error=/dev/null"]
        # More ranks than processors Slurm takes as a number of all ranks, not of those of a node.
        of_node, of_all = f"--ntasks-per-node={place.ppn}", f"--ntasks={place.nprocs}"
        words += [f"--nodes={place.nodes}", of_all if place.oversubscribed else of_node]
        words += [f"--time={int(minutes)}"]
        for key in ("partition", "account", "qos", "constraint", "nodelist"):
            words += [f"--{key}={getattr(table, key)}"] if getattr(table, key) else []
        # A job that may overcommit gets a processor, unless it gets all of a node.
        words += ["--exclusive"] if table.exclusive or place.oversubscribed else []
        words += ["--overcommit"] if place.oversubscribed else []
        words += [f"--array=0-{tasks - 1}"] if tasks > 1 else []
        number = ask(*words, *table.sbatch, str(script)).strip().partition(";")[0]
        if not number.isdigit():
            raise PlumblineError(f"sbatch answers {number!r} in place of a job's number")
        return [number] if tasks == 1 else [f"{number}_{task}" for task in range(tasks)]

    def named(self, name: str) -> dict[int, str] | None:
        """What has only just been handed over is in the queue, what has ended may be in the books
        alone."""
        found: dict[int, str] = {}
        for table in (self._booked(["--name", name]), self._queued(["--name", name])):
            if table is None:
                return None
            for id in table:
                found[int(id.partition("_")[2] or 0)] = id
        return found

    def states(self, jobs: Sequence[Submission]) -> dict[str, JobState] | None:
        names = ",".join(sorted({job.name for job in jobs}))
        booked = self._booked(["--name", names])
        queued = self._queued(["--name", names])
        if booked is None or queued is None:
            return None
        final = {id: state for id, state in booked.items() if state.kind != "alive"}
        # Alive in the books alone is no sign of life: what a crashed controller forgets stays so.
        return queued | final

    def _booked(self, which: list[str]) -> dict[str, JobState] | None:
        """What sacct knows; nothing where there is no accounting."""
        if not self._accounting:
            return {}
        words = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=JobID,State"]
        try:
            # Without a start it looks at today alone.
            done = process.run(
                [*words, "--starttime=now-30days", *which], timeout_seconds=COMMAND_SECONDS
            )
        except PlumblineError:  # there is no sacct
            self._accounting = False
            return {}
        if done.status != 0 and "accounting storage is disabled" in done.stderr:
            self._accounting = False
            return {}
        return _states(done.stdout) if done.status == 0 else None

    def _queued(self, which: list[str]) -> dict[str, JobState] | None:
        words = ["squeue", "--noheader", "--array", "--states=all", "--format=%i|%T"]
        done = process.run([*words, *which], timeout_seconds=COMMAND_SECONDS)
        return _states(done.stdout) if done.status == 0 else None

    def cancel(self, jobs: Sequence[Submission]) -> None:
        for name in sorted({job.name for job in jobs}):
            ids = [job.id for job in jobs if job.name == name]
            words = ["scancel", f"--name={name}", *ids]
            done = process.run(words, timeout_seconds=COMMAND_SECONDS)
            if done.status != 0 and "Invalid job id" not in done.stderr:
                raise PlumblineError(f"{' '.join(words)}: {done.stderr.strip()}")


class _Node(msgspec.Struct, frozen=True):
    partition: str
    is_default: bool
    type: str
    cpus: int
    memory_mib: int
    features: str


def _node(line: str) -> _Node:
    partition, _, cpus, sockets, cores, threads, memory, features = line.split("|")
    own = "" if features == "(null)" else features
    return _Node(
        partition=partition.rstrip("*"),
        is_default=partition.endswith("*"),
        type=f"{sockets}x{cores}x{threads} cores" + (f", {own}" if own else ""),
        cpus=int(cpus),
        memory_mib=int(memory),
        features=own,
    )


def _states(text: str) -> dict[str, JobState]:
    """Lines `id|WORD …`: sacct adds who has cancelled, and writes tasks that wait as one line."""
    found = {}
    for line in text.splitlines():
        id, _, words = line.strip().partition("|")
        if re.fullmatch(r"\d+(_\d+)?", id) and words:
            word = words.split()[0].rstrip("+")
            found[id] = JobState(kind=_KINDS.get(word, "alive"), word=word)
    return found


def remembered(configuration: str) -> float:
    """For how long the controller knows jobs that have ended, at least."""
    found = re.match(r"(\d+) sec", _field(configuration, "MinJobAge"))
    return min(REMEMBERS_SECONDS, float(found[1])) if found else REMEMBERS_SECONDS


def _field(text: str, name: str) -> str:
    found = re.search(rf"^{name}\s*=\s*(.*?)\s*$", text, re.MULTILINE)
    return found[1] if found else "unknown"
