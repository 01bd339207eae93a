"""What launchers that hand jobs to a scheduler share: a launch becomes a job, is waited for, found
again after this process was killed, and started again when the cluster has ended it.

How far a launch is, is asked in this order: the file `done` that its script writes at its end, then
the scheduler. A job that the scheduler does not know counts as lost only when it has been silent
for `grace_seconds`, and a new one is submitted only when the one before can no longer run."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from plumbline.core.unmeasured import Unmeasured
from plumbline.libraries import Family, Installation
from plumbline.system import ending, process
from plumbline_db import own
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Event, Machine

from . import Job
from .job_files import JobFiles, Submission, submitted_script
from .local import here
from .under_way import JobState, UnderWay

AT_ONCE_MOST = 500
COMMAND_SECONDS = 60.0
FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS = 0.1, 2.0


class SchedulerTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys that the tables of all schedulers have.

    folder: of the jobs' files, on a file system that all nodes share (empty: `jobs` beside the
    database). keep: they stay when a launch is stored. setup: shell text that goes into each script
    as it is. at_once: launches under way at the same time, at most. resubmissions: of a launch that
    the cluster has ended, at most. grace_seconds: for which a job must be silent to count as lost.
    poll_seconds: between questions to the scheduler, at most. exclusive: nobody else on the nodes.
    """

    folder: Unmeasured[str] = ""
    keep: Unmeasured[bool] = False
    setup: str = ""
    at_once: int = 1
    resubmissions: Unmeasured[int] = 3
    grace_seconds: Unmeasured[float] = 60.0
    poll_seconds: Unmeasured[float] = 30.0
    exclusive: bool = True

    def __post_init__(self) -> None:
        legal = {
            "at_once": (1 <= self.at_once <= AT_ONCE_MOST, f"1 to {AT_ONCE_MOST}"),
            "resubmissions": (0 <= self.resubmissions <= 100, "0 to 100"),
            "grace_seconds": (0 < self.grace_seconds <= 86400, "seconds above 0, a day at most"),
            "poll_seconds": (0 < self.poll_seconds <= 3600, "seconds above 0, an hour at most"),
        }
        for key, (fine, what) in legal.items():
            if not fine:
                raise ValueError(f"{key} = {getattr(self, key)!r}: it must be {what}")


def refuse_all_but_words(table: SchedulerTable, *keys: str) -> None:
    """ValueError where one of these texts is no word, or would be an option."""
    for key in keys:
        if re.search(r"^-|[\s\x00-\x1f]", getattr(table, key)):
            raise ValueError(f"{key} = {getattr(table, key)!r}: it must be one word")


def machine_of(facts: Sequence[str], **known: str | int) -> Machine:
    """What a scheduler tells of its nodes; another machine where one of the `facts` is another."""
    unknown = {"cpu_model": "", "numa_nodes": 1, "memory_bytes": 0, "kernel": ""}
    id = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    return msgspec.convert({"id": id} | unknown | known, Machine)


Table_co = TypeVar("Table_co", bound=SchedulerTable, covariant=True)


class Queue(Generic[Table_co]):
    """A launcher. What a scheduler is asked, and how, is in the classes made of this one."""

    name = ""
    alone = staticmethod(here)
    index = ""  # the variable with a task's number in its array; none: no arrays are submitted
    preamble: tuple[str, ...] = ()
    name_prefix = "plumbline-"
    remembers_seconds = 0.0  # for which the scheduler knows a job that has ended, at least
    nodes_may_differ = True  # from launch to launch, where the scheduler chooses them

    def __init__(self, table: Table_co, beside: Path) -> None:
        """Jobs have their files `beside` the database, where the table names no folder."""
        self.table = table
        self.at_once = table.at_once
        self._home = Path(table.folder).absolute() if table.folder else beside.absolute() / "jobs"
        self._mark = ""

    @property
    def by_mpirun(self) -> bool:
        """Ranks are started by the library's mpirun, not by the scheduler's own."""
        return getattr(self.table, "start", "mpirun") == "mpirun"

    # --- of each scheduler ----------------------------------------------------------------------

    def words(self, family: Family, installation: Installation, job: Job) -> list[str]:
        """The command of the script that starts the ranks."""
        return [str(installation.mpirun), *family.words(job.placement), *job.program]

    def submit(self, script: Path, name: str, tasks: int, job: Job) -> list[str]:
        """Hands `script` over, as an array if there are several tasks. The jobs' ids, in order of
        the tasks. Raises PlumblineError with what the scheduler says."""
        raise NotImplementedError

    def named(self, name: str) -> dict[int, str] | None:
        """Ids of the jobs called `name` that the scheduler remembers, by task; None: no answer."""
        raise NotImplementedError

    def states(self, jobs: Sequence[Submission]) -> dict[str, JobState] | None:
        """By id, of those that the scheduler knows under their names: one that has lost its memory
        gives the ids to others. None: it does not answer."""
        raise NotImplementedError

    def cancel(self, jobs: Sequence[Submission]) -> None:
        """Those that are there under their names. Raises PlumblineError when that fails."""
        raise NotImplementedError

    def cancel_each(self, jobs: Sequence[Submission], asking: str, command: str, gone: str) -> None:
        """Those that `asking` finds alive, by `command`; a complaint that matches `gone` is none.
        Raises PlumblineError."""
        states = self.states(jobs)
        if states is None:
            raise PlumblineError(f"{asking} does not answer: what is to be cancelled is not known")
        ids = sorted(id for id, state in states.items() if state.kind == "alive")
        if not ids:
            return
        done = process.run([command, *ids], timeout_seconds=COMMAND_SECONDS)
        for line in done.stderr.splitlines():
            if done.status != 0 and not re.search(gone, line):
                raise PlumblineError(f"{command} {' '.join(ids)}: {line.strip()}")

    # --- the launcher ---------------------------------------------------------------------------

    @contextmanager
    def folder(self, id: str) -> Iterator[Path]:
        """It stays until `stored`. Nobody else may have made it, may look into it, or may put
        another in its place while a job waits."""
        path = self._folder(id)
        try:
            own.make(self._home)
            for folder in (path.parent, path):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise PlumblineError(
                f"cannot create the folder {path}: {error.strerror}; name another one (`folder`)"
            ) from error
        own.require(path, path.parent)
        yield path

    def keep_apart(self, mark: str) -> None:
        """From launches of the same names in another database, or in one that is gone."""
        self._mark = f"-{mark}"

    def _folder(self, id: str) -> Path:
        campaign, _, launch = id.partition("/")
        return self._home / (campaign + self._mark) / launch

    def events(self, id: str) -> list[Event]:
        folder = self._folder(id)
        return JobFiles(folder).events() if folder.is_dir() else []

    def stored(self, id: str) -> None:
        """The launch is in the database: its files may go."""
        folder = self._folder(id)
        if self.table.keep:
            (folder / "environment").unlink(missing_ok=True)
        elif folder.is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # others are in it
                folder.parent.rmdir()

    def refused(self, id: str) -> None:
        """The launch is at its end and is not stored: when it is asked for again, it is another."""
        files = JobFiles(self._folder(id))
        last = files.submission()
        if last:
            files.submitting(Submission(attempt=last.attempt, name="", task=0, digest=""))

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        ((_, finished),) = self.run_all(family, installation, [job])
        return finished

    def run_all(
        self, family: Family, installation: Installation, jobs: Sequence[Job]
    ) -> Generator[tuple[int, process.Finished], None, None]:
        """All of them together; each is handed out when it is at its end, with its place among
        `jobs`. When this is left before that, by Ctrl-C or an error, the rest is cancelled; after
        SIGTERM, SIGHUP and SIGKILL they go on, and the next call with the same jobs finds them."""
        launches = [UnderWay(self, family, installation, job) for job in jobs]
        left = dict(enumerate(launches))
        pause = Pause(FIRST_PAUSE_SECONDS, LAST_PAUSE_SECONDS)
        ask = Pause(min(1.0, self.table.poll_seconds), self.table.poll_seconds)
        try:
            while left:
                for number, launch in list(left.items()):
                    finished = launch.finished()
                    if finished is not None:
                        del left[number]
                        yield number, finished
                fresh = [way for way in left.values() if way.submission is None]
                if fresh:
                    self._submit(fresh)
                    pause.reset()
                    ask.reset()
                elif ask.over():
                    self._look(list(left.values()))
                    continue
                pause.sleep()
        except PlumblineError:
            self._abandon(left.values())
            raise
        except BaseException as error:  # it may come between a submission and its answer
            if not isinstance(error, ending.Ended) or error.by_hand:
                self._abandon(left.values(), by_name=True)
            raise

    # --- in steps -------------------------------------------------------------------------------

    def _submit(self, launches: Sequence[UnderWay]) -> None:
        """As one array where there are arrays, else as a job each."""
        size = len(launches) if self.index else 1
        for start in range(0, len(launches), size):
            self._submit_together(launches[start : start + size])

    def _submit_together(self, launches: Sequence[UnderWay]) -> None:
        first = launches[0]
        # Another name for each attempt, so that an earlier one is never taken for this.
        facts = "\n".join(f"{launch.files.folder} {launch.attempt}" for launch in launches)
        name = self.name_prefix + hashlib.sha256(facts.encode()).hexdigest()[:12]
        scripts = [(launch.prepare(), launch.attempt) for launch in launches]
        script = first.files.write_script(
            "submit.sh", submitted_script(scripts, self.index or "PLUMBLINE_TASK")
        )
        for task, launch in enumerate(launches):
            launch.keep_submission(name, task)
        try:
            ids = self.submit(script, name, len(launches), first.job)
        except PlumblineError:
            # It may have arrived all the same; then its name finds it.
            if self.named(name) == {}:
                for launch in launches:
                    launch.forget()
            raise
        for launch, id in zip(launches, ids, strict=True):
            launch.keep_id(id)

    def _look(self, launches: Sequence[UnderWay]) -> None:
        """Asks the scheduler once for all, and draws the conclusions."""
        nameless = {launch.sure.name for launch in launches if not launch.sure.id}
        for name in sorted(nameless):
            found = self.named(name)
            for launch in launches:
                last = launch.submission
                if found is not None and last and not last.id and last.name == name:
                    launch.found(found.get(last.task))
        known = [launch.sure for launch in launches if launch.submission and launch.submission.id]
        states = self.states(known) if known else {}
        if states is None:
            return
        for launch in launches:
            if launch.submission and launch.submission.id:
                launch.look(states.get(launch.submission.id))

    def _abandon(self, launches: Iterable[UnderWay], *, by_name: bool = False) -> None:
        """What has no id yet, though the scheduler was asked for one, is found by its name: here,
        or by the next command; so is what cannot be cancelled because the scheduler does not
        answer."""
        asked = [launch for launch in launches if launch.submission]
        with contextlib.suppress(PlumblineError):
            nameless = [way for way in asked if by_name and not way.sure.id]
            for name in sorted({way.sure.name for way in nameless}):
                ids = self.named(name) or {}
                for way in nameless:
                    if way.sure.name == name and way.sure.task in ids:
                        way.keep_id(ids[way.sure.task])
            known = [way for way in asked if way.sure.id]
            if known:
                self.cancel([way.sure for way in known])
            for way in known:
                way.forget()


def ask(*words: str) -> str:
    """What a command answers. Raises PlumblineError when it fails."""
    done = process.run(words, timeout_seconds=COMMAND_SECONDS)
    if done.status != 0 or done.timed_out:
        raise PlumblineError(f"{words[0]} fails: {done.stderr.strip()[-500:] or 'no answer'}")
    return done.stdout


def of_jobs(words: Sequence[str], unknown: str) -> str | None:
    """What a command says of jobs; None: it does not answer. A complaint that matches `unknown` is
    of a job that the scheduler does not know."""
    done = process.run(words, timeout_seconds=COMMAND_SECONDS)
    complaints = [line for line in done.stderr.splitlines() if line.strip()]
    if not all(re.search(unknown, line) for line in complaints):
        return None
    return None if done.status != 0 and not complaints else done.stdout


class Pause:
    """Longer and longer pauses."""

    def __init__(self, first_seconds: float, last_seconds: float) -> None:
        self._first, self._last = first_seconds, last_seconds
        self.reset()

    def reset(self) -> None:
        self._seconds = self._first
        self._until = time.monotonic() + self._seconds

    def over(self) -> bool:
        """Whether this one is; then the next one begins."""
        if time.monotonic() < self._until:
            return False
        self._seconds = min(1.5 * self._seconds, self._last)
        self._until = time.monotonic() + self._seconds
        return True

    def sleep(self) -> None:
        time.sleep(self._seconds)
        self._seconds = min(1.5 * self._seconds, self._last)
