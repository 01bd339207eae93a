"""One launch on its way through a scheduler: what is known of it, and what follows from that."""

from __future__ import annotations

import datetime
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.libraries import Family, Installation, preloaded
from plumbline.libraries import reaching as variables_that_reach
from plumbline.system import process
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Event

from . import RECORDS, Job
from .job_files import Done, JobFiles, Submission, job_script, of_attempt

if TYPE_CHECKING:
    from .batch import Queue, SchedulerTable

# interrupted: by the cluster, and no fault of the launch. ended: without the script's own word.
Kind = Literal["alive", "ended", "cancelled", "interrupted", "timed out"]

OVERRUN_SECONDS = 60.0  # a job that runs so much longer than its limit is cancelled from here
CANCELS_MOST = 1


class JobState(msgspec.Struct, frozen=True):
    """Of a job; `word` is the scheduler's own."""

    kind: Kind
    word: str


class UnderWay:
    """`submission` is None when there is nothing to wait for: it is to be submitted."""

    def __init__(
        self, queue: Queue[SchedulerTable], family: Family, installation: Installation, job: Job
    ) -> None:
        self.job = job
        self.files = JobFiles(job.folder)
        self._queue = queue
        self._table = queue.table
        self._family = family
        self._words = queue.words(family, installation, job)
        self._variables = (
            family.environment(installation) | variables_that_reach(job.environment) | job.extra
        )
        self._digest = hashlib.sha256(
            (self._script(0) + Path(job.folder, "plan").read_text()).encode()
        ).hexdigest()
        self._outcome: process.Finished | None = None
        self._doubt: Done | None = None  # the script's word, until the scheduler has confirmed it
        self._believed = False
        self._overdue = False
        last = self.files.submission()
        self.attempt = last.attempt if last else 0
        self.submission = last if last and last.name else None
        if self.submission and self.submission.digest != self._digest:
            self._drop_another()
        if self.submission is None:
            self.attempt += 1
        self._quiet()

    @property
    def sure(self) -> Submission:
        assert self.submission is not None  # noqa: S101 - of the caller
        return self.submission

    def _script(self, attempt: int) -> str:
        return job_script(
            folder=self.job.folder,
            attempt=attempt,
            words=self._words_of(attempt),
            variables=self._variables,
            preamble=[self._table.setup.rstrip("\n"), *self._queue.preamble],
            timeout_seconds=self.job.timeout_seconds,
        )

    def _words_of(self, attempt: int) -> list[str]:
        """The command, with a file of records of the attempt's own."""
        records = self.job.folder / RECORDS
        own = str(records.with_name(of_attempt(RECORDS, attempt)))
        return [own if word == str(records) else word for word in self._words]

    def _drop_another(self) -> None:
        """What is under way here is not this launch (another version of Plumbline)."""
        if self.sure.id:
            self._queue.cancel([self.sure])
        self.forget()

    # --- to the scheduler -----------------------------------------------------------------------

    def prepare(self) -> Path:
        """The script of the next attempt; what the one before has left is gone."""
        self.files.clear(RECORDS)
        self.files.clear(of_attempt(RECORDS, self.attempt))
        self.files.over(self.attempt - 1)
        return self.files.write_script("job.sh", self._script(self.attempt))

    def keep_submission(self, name: str, task: int) -> None:
        self.submission = Submission(
            attempt=self.attempt, name=name, task=task, digest=self._digest
        )
        self.files.submitting(self.submission)
        self._quiet()

    def keep_id(self, id: str) -> None:
        self.submission = msgspec.structs.replace(self.sure, id=id)
        self.files.submitting(self.submission)
        self._quiet()

    def forget(self) -> None:
        """Nothing is under way any more. A job that the scheduler starts after all finds in the
        script that it is not its turn."""
        self.files.write_script("job.sh", self._script(0))
        self.files.over(self.attempt)
        self.files.submitting(Submission(attempt=self.attempt, name="", task=0, digest=""))
        self.submission = None

    # --- what is known --------------------------------------------------------------------------

    def finished(self) -> process.Finished | None:
        done = self.files.done(self.attempt) if self.submission else None
        if done is None:
            return self._outcome
        if not self._clean(done):
            return None
        seconds = max(0.0, done.ended_seconds - done.begun_seconds)
        late = done.status in (124, 137) and seconds >= self.job.timeout_seconds
        if done.status != 0 and not late and not self._believed:
            # The end of a job may reach its ranks before its script.
            self._doubt = done
            return None
        return self._finished(done.status, late, seconds, done.age_seconds)

    def found(self, id: str | None) -> None:
        """By its name, or not: then what was handed over before this process was killed has not
        arrived, unless it still does."""
        if id is not None:
            self.keep_id(id)
        elif self._silent():
            self._again("launch lost", f"the scheduler has no job called {self.sure.name}")

    def look(self, state: JobState | None) -> None:
        """What the scheduler says; None: it does not know the job."""
        if state is not None and state.kind == "alive":
            self._since = time.monotonic()
            self._overrun()
            return
        if self._overdue:
            self._outcome = self._finished(-15, True, self.job.timeout_seconds, 0.0)
            return
        if self._doubt is not None:
            fresh = self._doubt.age_seconds < self._queue.remembers_seconds
            self._believed = (state is None and not fresh) or (
                state is not None and state.kind == "ended"
            )
            if self._believed:
                return
        # The script's own word may be on its way, and a job may run that the scheduler has lost.
        if self._doubt is None and not self._silent():
            return
        id = self.sure.id
        if state is None:
            self._again("launch lost", f"job {id} has gone from the queue without a result")
        elif state.kind == "interrupted":
            self._again("launch interrupted", f"job {id}: {state.word}")
        elif state.kind == "cancelled":
            self._cancelled()
        elif state.kind == "timed out":
            self._outcome = self._finished(-15, True, self.job.timeout_seconds, 0.0)
        else:
            self._outcome = self._finished(1, False, 0.0, 0.0, self._no_result(state))

    # --- what follows ---------------------------------------------------------------------------

    def _quiet(self) -> None:
        self._doubt = None
        self._believed = False
        self._since = time.monotonic()
        self._beat = self.files.beat()
        self._began: float | None = None

    def _silent(self) -> bool:
        """Neither the scheduler nor the script has said for the time of grace that it lives."""
        beat = self.files.beat()
        if beat != self._beat:
            self._beat, self._since = beat, time.monotonic()
        return time.monotonic() - self._since > self._table.grace_seconds

    def _overrun(self) -> None:
        if self.files.beat() == 0:
            return
        if self._began is None:
            self._began = time.monotonic()
        if time.monotonic() - self._began > self.job.timeout_seconds + OVERRUN_SECONDS:
            self._queue.cancel([self.sure])
            self._overdue = True

    def _again(self, kind: str, text: str) -> None:
        """The cluster has ended it: the next attempt, if there is one."""
        before = sum(
            event.kind in ("launch lost", "launch interrupted") for event in self.files.events()
        )
        if before >= self._table.resubmissions:
            self.forget()
            raise PlumblineError(
                f"{self.job.id}: {text}, and so were {before} jobs of this launch before; see what "
                "the cluster does to them (resubmissions says how many are tried); the same "
                "command goes on"
            )
        self._event(kind, text)
        self._next()

    def _cancelled(self) -> None:
        text = f"job {self.sure.id} was cancelled"
        if sum(event.kind == "launch cancelled" for event in self.files.events()) >= CANCELS_MOST:
            self.forget()
            raise PlumblineError(
                f"{self.job.id}: {text}, as the one before; the same command goes on with it"
            )
        self._event("launch cancelled", text)
        self._next()

    def _next(self) -> None:
        self.forget()
        self.attempt += 1

    def _event(self, kind: str, text: str) -> None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        text = f"{text}; attempt {self.attempt + 1} follows"
        self.files.add(Event(time=now, kind=kind, text=text, run=self.job.id))

    def _no_result(self, state: JobState) -> str:
        if self.files.is_cut():
            return (
                f"\nwhat job {self.sure.id} has written is cut: is there room in {self.job.folder}?"
            )
        return (
            f"\njob {self.sure.id} is {state.word}, and its script has not come to its end: is "
            f"{self.job.folder} on a file system that all nodes share, is there room in it, and "
            "does `setup` go through?"
        )

    def _clean(self, done: Done) -> bool:
        """Whether nothing on its node has changed what was measured. Raises PlumblineError where
        something has; what the node says may take a moment longer to be seen here."""
        names = self.files.environment()
        if names is None and done.age_seconds <= self._table.grace_seconds:
            return False
        if names is None:
            self.forget()
            raise PlumblineError(
                f"{self.job.folder}/environment is not whole: is there room? The same command "
                "starts the launch again"
            )
        # What srun hands on is for the queue to say, and it does.
        ours = {*self._variables, preloaded.SRUN_LIST}
        unclean = set(self._family.settings_in(dict.fromkeys(names, ""))) - ours
        if unclean:
            raise PlumblineError(
                f"jobs of {self._queue.name} get {', '.join(sorted(unclean))} from their nodes, "
                "which would change what is measured: unset it in `setup`"
            )
        return True

    def _finished(
        self, status: int, timed_out: bool, seconds: float, age_seconds: float, more: str = ""
    ) -> process.Finished:
        self.files.take(RECORDS, self.attempt)
        cap = process.OUTPUT_CAP_BYTES
        return process.Finished(
            argv=self._words,
            status=status,
            timed_out=timed_out,
            stdout=self.files.tail("stdout", cap),
            stderr=self.files.tail("stderr", cap) + more,
            seconds=seconds,
            ended_seconds_ago=age_seconds,
        )
