"""Ranks on a cluster that LSF runs. A launch is a job (bsub). There are no arrays: launches that go
together are a job each.

Written after the commands' manuals, and tested against recorded answers alone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from plumbline.core.unmeasured import Unmeasured
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Machine

from . import Job, launcher
from .batch import (
    Queue,
    SchedulerTable,
    ask,
    machine_of,
    of_jobs,
    refuse_all_but_words,
)
from .job_files import KILL_SECONDS, Submission
from .under_way import JobState, Kind

# Options of bsub that Plumbline sets itself, or that would take a job out of its hands.
_OURS = {"J", "o", "oo", "e", "eo", "W", "n", "x", "q", "P", "env", "L", "I", "Is", "Ip", "K", "i"}
_OURS |= {"is", "r", "rn", "cwd", "B", "N", "H", "w", "b", "t", "hl", "pack"}
_OPTION = re.compile(r"-([A-Za-z_]+)(?: ([^\s-][^\x00-\x1f]*))?\Z")
_FIELDS = "jobid job_name stat exit_reason delimiter='|'"

# What LSF says of an EXIT -> what became of the job. Other reasons are the system's.
_REASONS: dict[str, Kind] = {
    "TERM_RUNLIMIT": "timed out",
    "TERM_OWNER": "cancelled",
    "TERM_FORCE_OWNER": "cancelled",
    "TERM_ADMIN": "cancelled",
    "TERM_FORCE_ADMIN": "cancelled",
}


class LsfTable(SchedulerTable, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `lsf` of a campaign file: what all tables of schedulers have, and

    queue, project: as bsub takes them (-q, -P). select: what each host must be, as in
    `select[model==rome]` (-R). bsub: more options, as in `-U reservation`."""

    queue: str = ""
    project: Unmeasured[str] = ""
    select: str = ""
    bsub: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_all_but_words(self, "queue", "project", "select")
        if "span[" in self.select:
            raise ValueError("select: span[…] is set from nprocs and nodes")
        for option in self.bsub:
            match = _OPTION.match(option)
            if match is None:
                raise ValueError(f"bsub: {option!r} is no option: -U or -U value")
            if match[1] in _OURS or "span[" in option:
                raise ValueError(f"bsub: {option!r} is set from the other keys")


@launcher("lsf", table=LsfTable)
class Lsf(Queue[LsfTable]):
    name = "lsf"

    # --- the machine ----------------------------------------------------------------------------

    def machine(self, placement: Placement) -> Machine:
        del placement
        said = ask("lsid")
        named = re.search(r"^My cluster name is (\S+)", said, re.MULTILINE)
        cluster = named[1] if named else "unknown cluster"
        queue = f", queue {self.table.queue}" if self.table.queue else ""
        select = f", {self.table.select}" if self.table.select else ""
        slots = self.processing_units()
        return machine_of(
            [cluster, queue, select, str(slots)],
            host=cluster + queue + select,
            cpu_model=self.table.select,
            processing_units=slots or 0,
            system=said.strip().partition("\n")[0].strip(),
        )

    def processing_units(self) -> int | None:
        """Slots of the smallest host, in columns HOST_NAME STATUS JL/U MAX."""
        rows = (line.split() for line in ask("bhosts", "-w").splitlines()[1:])
        slots = [int(row[3]) for row in rows if len(row) > 3 and row[3].isdigit()]
        return min((count for count in slots if count > 0), default=None)

    # --- the job --------------------------------------------------------------------------------

    def submit(self, script: Path, name: str, tasks: int, job: Job) -> list[str]:
        del tasks
        table, place = self.table, job.placement
        # More ranks than slots: what is asked for is what there is.
        slots = min(place.ppn, self.processing_units() or place.ppn)
        minutes = math.ceil((job.timeout_seconds + 2 * KILL_SECONDS + 60) / 60)
        words = ["bsub", "-J", name, "-o", "/dev/null", "-e", "/dev/null", "-rn", "-env", "none"]
        words += ["-W", str(minutes), "-n", str(place.nodes * slots)]
        words += ["-R", f"span[ptile={slots}]"]
        words += ["-R", table.select] if table.select else []
        words += ["-x"] if table.exclusive else []
        words += ["-q", table.queue] if table.queue else []
        words += ["-P", table.project] if table.project else []
        for option in table.bsub:
            words += option.split(" ", 1)
        said = ask(*words, "/bin/bash", str(script))
        id = re.search(r"Job <(\d+)> is submitted", said)
        if id is None:
            raise PlumblineError(f"bsub answers {said.strip()!r} in place of a job's id")
        return [id[1]]

    def named(self, name: str) -> dict[int, str] | None:
        done = self._jobs("-J", name)
        if done is None:
            return None
        return dict(enumerate([id for id, _ in _rows(done)][:1]))

    def states(self, jobs: Sequence[Submission]) -> dict[str, JobState] | None:
        done = self._jobs(*(job.id for job in jobs))
        if done is None:
            return None
        names = {job.name for job in jobs}
        return {id: _state(*rest) for id, (name, *rest) in _rows(done) if name in names}

    def _jobs(self, *words: str) -> str | None:
        """What bjobs says of jobs, those that are over too; None: it does not answer. One that it
        does not know is a complaint, and no row."""
        words = ("bjobs", "-a", "-noheader", "-o", _FIELDS, *words)
        return of_jobs(words, "is not found|No ")

    def cancel(self, jobs: Sequence[Submission]) -> None:
        self.cancel_each(jobs, "bjobs", "bkill", gone="already finished|No matching")


def _rows(text: str) -> list[tuple[str, tuple[str, str, str]]]:
    """Id, and name, state, reason, of each line of bjobs."""
    rows = (line.strip().split("|", 3) for line in text.splitlines())
    return [(row[0], (row[1], row[2], row[3])) for row in rows if len(row) == 4]


def _state(word: str, reason: str) -> JobState:
    reason = reason.strip("- ")
    said = f"{word} ({reason})" if reason else word
    if word == "DONE":
        return JobState("ended", said)
    if word != "EXIT":
        return JobState("alive", said)
    other: Kind = "interrupted" if reason.startswith("TERM_") else "ended"
    return JobState(_REASONS.get(reason.partition(":")[0], other), said)
