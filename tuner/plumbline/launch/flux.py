"""Ranks on a cluster, or in an allocation, that Flux runs: a launch is a job (flux batch), which is
a small Flux instance of its own. There are no arrays: launches that go together are a job each.

Written after the commands' manuals, and tested against recorded answers alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from plumbline.core.unmeasured import Unmeasured
from plumbline.libraries import Family, Installation
from plumbline.libraries.into_ranks import for_ranks
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher
from .batch import (
    COMMAND_SECONDS,
    Queue,
    SchedulerTable,
    ask,
    machine_of,
    of_jobs,
    refuse_all_but_words,
)
from .job_files import KILL_SECONDS, Submission
from .under_way import JobState

_OURS = {"job-name", "output", "error", "env", "env-file", "nodes", "nslots", "time-limit", "cwd"}
_OURS |= {"exclusive", "queue", "bank", "wrap", "dry-run", "cc", "bcc", "input"}
_OPTION = re.compile(r"--([a-z][a-z0-9-]*)(=[^\x00-\x1f]+)?\Z")
_FORMAT = "--format={id.f58}|{state}|{result}|{exception.type}"
_JOBS = ("flux", "jobs", "--no-header", _FORMAT)

RESOURCES = (
    *("flux", "resource", "list", "--states=all", "--no-header"),
    "--format={nnodes}|{ncores}|{nodelist}",
)


def resources(said: str) -> tuple[int, int, str] | None:
    """Nodes, cores and hosts out of the answer to RESOURCES; None: it has no nodes."""
    for line in said.splitlines():
        nodes, cores, hosts = (*line.strip().split("|", 2), "", "")[:3]
        if nodes.isdigit() and int(nodes) and cores.isdigit():
            return int(nodes), int(cores), hosts
    return None


class FluxTable(SchedulerTable, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `flux` of a campaign file: what all tables of schedulers have, and

    queue, bank: as flux batch takes them. start: what starts the ranks inside the job, mpirun or
    `flux run`. flux: more options of flux batch, as in `--setattr=x=y`."""

    queue: str = ""
    bank: Unmeasured[str] = ""
    start: Literal["mpirun", "flux"] = "flux"
    flux: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_all_but_words(self, "queue", "bank")
        for option in self.flux:
            found = _OPTION.match(option)
            if found is None:
                raise ValueError(f"flux: {option!r} is no option: --name or --name=value")
            if found[1] in _OURS:
                raise ValueError(f"flux: --{found[1]} is set from the other keys")


@launcher("flux", table=FluxTable)
class Flux(Queue[FluxTable]):
    name = "flux"
    remembers_seconds = 60.0

    # --- the machine ----------------------------------------------------------------------------

    def machine(self, placement: Placement) -> Machine:
        del placement
        nodes, cores, hosts = self._resources()
        queue = f", queue {self.table.queue}" if self.table.queue else ""
        return machine_of(
            [hosts, queue, str(cores // nodes)],
            host=hosts + queue,
            processing_units=cores // nodes,
            system=ask("flux", "version").splitlines()[0].replace("commands:", "Flux").strip(),
        )

    def processing_units(self) -> int | None:
        nodes, cores, _ = self._resources()
        return cores // nodes

    def _resources(self) -> tuple[int, int, str]:
        """Nodes, cores and hosts, whatever their state is."""
        queue = [f"--queue={self.table.queue}"] if self.table.queue else []
        found = resources(ask(*RESOURCES, *queue))
        if found is None:
            raise PlumblineError("flux resource list shows no nodes: see the table [flux]")
        return found

    # --- the job --------------------------------------------------------------------------------

    def words(self, family: Family, installation: Installation, job: Job) -> list[str]:
        if self.by_mpirun:
            return super().words(family, installation, job)
        place = job.placement
        if place.binding not in ("", "core", "none") or place.map_by:
            raise PlumblineError(
                'flux run binds to core or none, and maps as it does: start = "mpirun"'
            )
        words = ["flux", "run", f"--nodes={place.nodes}", f"--ntasks={place.nprocs}"]
        if place.binding:  # else as the site has it
            affinity = "per-task" if place.binding == "core" else "off"
            words += [f"--setopt=cpu-affinity={affinity}"]
        for name, value in for_ranks(job.extra).items():
            words += [f"--env={name}={value}"]
        return [*words, *job.program]

    def submit(self, script: Path, name: str, tasks: int, job: Job) -> list[str]:
        del tasks
        table, place = self.table, job.placement
        words = ["flux", "batch", f"--job-name={name}", f"--cwd={job.folder}"]
        words += ["--output=/dev/null", "--error=/dev/null"]
        # Nothing of this process's environment but what a login has.
        words += [
            "--env=-*",
            *(f"--env={variable}" for variable in ("HOME", "USER", "LOGNAME", "PATH")),
        ]
        words += [f"--nodes={place.nodes}", f"--nslots={place.nprocs}"]
        words += [f"--time-limit={int(job.timeout_seconds + 2 * KILL_SECONDS + 60)}s"]
        words += ["--exclusive"] if table.exclusive else []
        words += [f"--queue={table.queue}"] if table.queue else []
        words += [f"--bank={table.bank}"] if table.bank else []
        id = _plain(ask(*words, *table.flux, str(script)).strip())
        if not re.match(r"f[A-Za-z0-9]+\Z", id):
            raise PlumblineError(f"flux batch answers {id!r} in place of a job's id")
        return [id]

    def named(self, name: str) -> dict[int, str] | None:
        words = [*_JOBS, "-a", f"--name={name}"]
        done = process.run(words, timeout_seconds=COMMAND_SECONDS)
        return None if done.status != 0 else dict(enumerate(list(_states(done.stdout))[:1]))

    def states(self, jobs: Sequence[Submission]) -> dict[str, JobState] | None:
        said = of_jobs([*_JOBS, *(job.id for job in jobs)], "unknown")
        return None if said is None else _states(said)

    def cancel(self, jobs: Sequence[Submission]) -> None:
        ids = [job.id for job in jobs]
        done = process.run(["flux", "cancel", *ids], timeout_seconds=COMMAND_SECONDS)
        for line in done.stderr.splitlines():
            if done.status != 0 and not re.search(r"inactive|unknown", line):
                raise PlumblineError(f"flux cancel {' '.join(ids)}: {line.strip()}")


def _plain(id: str) -> str:
    """Ids begin with a letter that not every locale has."""
    return id.replace("ƒ", "f")


def _states(text: str) -> dict[str, JobState]:
    found = {}
    for line in text.splitlines():
        if line.count("|") == 3:
            id, state, result, exception = line.strip().split("|")
            found[_plain(id)] = _state(state, result, exception)
    return found


def _state(state: str, result: str, exception: str) -> JobState:
    word = " ".join(part for part in (state, result, exception) if part)
    if state != "INACTIVE":
        return JobState("alive", word)
    if result == "CANCELED":
        return JobState("cancelled" if exception == "cancel" else "interrupted", word)
    if result == "TIMEOUT":
        return JobState("timed out", word)
    # A script that fails raises nothing; what is raised comes from the system.
    return JobState("interrupted" if result == "FAILED" and exception else "ended", word)
