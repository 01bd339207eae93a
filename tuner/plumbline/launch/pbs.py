"""Ranks on a cluster that PBS runs: OpenPBS, PBS Pro, or Torque, whose commands have the same names
and other answers. `qstat --version` tells them apart. A launch is a job (qsub). There are no
arrays: launches that go together are a job each.

Written after the commands' manuals, and tested against recorded answers alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from plumbline.core.unmeasured import Unmeasured
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

# Letters of qsub that Plumbline sets itself, or that would take a job out of its hands.
_OURS = set("ANoeJjtVvrhISqzCfXGdDx")
_OPTION = re.compile(r"-([A-Za-z]) ([^\s-][^\s]*)\Z")

_WALLTIME_STATUS = {"-29", "-11"}  # of PBS Pro, of Torque: ended at its time limit
_SIGNALLED = 256  # an exit status above it: the job was killed


class PbsTable(SchedulerTable, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `pbs` of a campaign file: what all tables of schedulers have, and

    queue, account: as qsub takes them (-q, -A). chunk: more of what each node must have, as in
    `model=rome` (OpenPBS: part of select; Torque: a property). qsub: more options, as in
    `-W group_list=x`."""

    queue: str = ""
    account: Unmeasured[str] = ""
    chunk: str = ""
    qsub: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_all_but_words(self, "queue", "account", "chunk")
        for option in self.qsub:
            found = _OPTION.match(option)
            if found is None:
                raise ValueError(f"qsub: {option!r} is no option with its value: -L value")
            value = option[3:]
            if found[1] in _OURS or value.startswith(("select=", "nodes=", "walltime=", "place=")):
                raise ValueError(f"qsub: {option!r} is set from the other keys")


@launcher("pbs", table=PbsTable)
class Pbs(Queue[PbsTable]):
    name = "pbs"
    name_prefix = "pl-"  # a name has 15 characters at most

    # --- the machine ----------------------------------------------------------------------------

    def machine(self, placement: Placement) -> Machine:
        del placement
        found = re.search(r"^Server: (\S+)", ask("qstat", "-B", "-f"), re.MULTILINE)
        server = found[1] if found else "unknown server"
        queue = f", queue {self.table.queue}" if self.table.queue else ""
        chunk = f", {self.table.chunk}" if self.table.chunk else ""
        cpus = self.processing_units()
        return machine_of(
            [server, queue, chunk, str(cpus)],
            host=server + queue + chunk,
            cpu_model=self.table.chunk,
            processing_units=cpus or 0,
            system="Torque" if self._torque else "OpenPBS",
        )

    def processing_units(self) -> int | None:
        """Of the smallest node: which ones a queue has is not said the same way everywhere."""
        text = ask("pbsnodes", "-a")
        name = "np" if self._torque else r"resources_available\.ncpus"
        counts = [int(digits) for digits in re.findall(rf"^\s+{name} = (\d+)$", text, re.MULTILINE)]
        return min((count for count in counts if count > 0), default=None)

    @cached_property
    def _torque(self) -> bool:
        done = process.run(["qstat", "--version"], timeout_seconds=COMMAND_SECONDS)
        return "pbs_version" not in done.stdout + done.stderr

    # --- the job --------------------------------------------------------------------------------

    def submit(self, script: Path, name: str, tasks: int, job: Job) -> list[str]:
        del tasks
        table, place = self.table, job.placement
        words = ["qsub", "-N", name, "-S", "/bin/bash", "-r", "n", "-o", "/dev/null"]
        words += ["-e", "/dev/null"]
        words += ["-l", f"walltime={int(job.timeout_seconds + 2 * KILL_SECONDS + 60)}"]
        chunk = f":{table.chunk}" if table.chunk else ""
        # More ranks than processors: what is asked for is what there is.
        cpus = min(place.ppn, self.processing_units() or place.ppn)
        if self._torque:
            words += ["-l", f"nodes={place.nodes}:ppn={cpus}{chunk}"]
            words += ["-n"] if table.exclusive else []
        else:
            select = f"select={place.nodes}:ncpus={cpus}:mpiprocs={place.ppn}{chunk}"
            words += ["-l", select]
            words += ["-l", "place=scatter:excl" if table.exclusive else "place=scatter"]
        words += ["-q", table.queue] if table.queue else []
        words += ["-A", table.account] if table.account else []
        for option in table.qsub:
            words += option.split(" ", 1)
        id = ask(*words, str(script)).strip()
        if not re.match(r"\d+[\w.\[\]-]*\Z", id):
            raise PlumblineError(f"qsub answers {id!r} in place of a job's id")
        return [id]

    def named(self, name: str) -> dict[int, str] | None:
        past = [] if self._torque else ["-x"]  # also what is over
        done = process.run(["qselect", *past, "-N", name], timeout_seconds=COMMAND_SECONDS)
        return None if done.status != 0 else dict(enumerate(done.stdout.split()[:1]))

    def states(self, jobs: Sequence[Submission]) -> dict[str, JobState] | None:
        past = [] if self._torque else ["-x"]
        ids = [job.id for job in jobs]
        said = of_jobs(["qstat", *past, "-f", *ids], "Unknown Job Id|Job has finished")
        return None if said is None else _states(said, {job.name for job in jobs})

    def cancel(self, jobs: Sequence[Submission]) -> None:
        self.cancel_each(jobs, "qstat", "qdel", gone="Unknown Job Id|has finished|[Ii]nvalid state")


def _states(text: str, names: set[str]) -> dict[str, JobState]:
    """Of `qstat -f`: a paragraph for each job."""
    found = {}
    for paragraph in re.split(r"^Job Id: ", text, flags=re.MULTILINE)[1:]:
        id, _, rest = paragraph.partition("\n")
        values = dict(re.findall(r"^\s+(\w+) = (.*)$", rest, re.MULTILINE))
        if values.get("Job_Name") in names:
            found[id.strip()] = _state(values.get("job_state", ""), values.get("Exit_status", ""))
    return found


def _state(letter: str, status: str) -> JobState:
    word = f"in state {letter}" + (f" with exit status {status}" if status else "")
    if letter not in ("F", "C", "X"):
        return JobState("alive", word)
    if not status:
        return JobState("cancelled", word)  # before it began
    if status in _WALLTIME_STATUS:
        return JobState("timed out", word)
    if int(status) < 0:
        return JobState("interrupted", word)  # the server could not run it, or lost it
    return JobState("cancelled" if int(status) > _SIGNALLED else "ended", word)
