"""Starts launches: from a plan's text to how its launch ended and what records it wrote. Nothing is
kept here."""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from plumbline.core.plan import Plan, PlanCase, named_in
from plumbline.launch import RECORDS, Job, Launcher, panel
from plumbline.launch.allocation import InAllocation
from plumbline.launch.groups import PartsOf, PlanPart, joined
from plumbline.launch.local import here
from plumbline.libraries import ChoosesAtStart, CountsMessages, Family, Installation
from plumbline.system import machine, placement, process
from plumbline.system.placement import Placement
from plumbline_db import ndjson, runs, scratch
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import Begin, Check, Footer, Header, ProbeRecord, UnderWay
from plumbline_db.records import Failure, Machine, Run

# Ranks as a user's own command starts them: its words up to the program, with another program in
# its place. Where the ranks are is the user's matter; their header says it.


class Typed:
    """`words`: those before the program; `shared`: a folder that all hosts see, if one is known to
    be."""

    name = "typed"
    alone = staticmethod(here)

    def __init__(self, words: Sequence[str], shared: Path) -> None:
        self._words = list(words)
        self._shared = shared if os.access(shared, os.W_OK | os.X_OK) else None

    def machine(self, placement: Placement) -> Machine:
        del placement
        return machine.this_machine()

    def processing_units(self) -> int | None:
        return None

    @contextmanager
    def folder(self, id: str) -> Iterator[Path]:
        del id
        with scratch.folder(self._shared) as folder:
            yield folder

    def run(self, family: Family, installation: Installation, job: Job) -> process.Finished:
        del family, installation
        words = [*self._words, *job.program]
        return process.run(words, timeout_seconds=job.timeout_seconds, environment=job.environment)


# The level of threads with which the probe starts MPI (probes/measure/world.h).
THREADS = "PLUMBLINE_THREADS"

# `none`: the probe does not use MPI_T, which plans without knobs do not need (the same file).
MPI_T = "PLUMBLINE_MPI_T"

PRELOAD = "LD_PRELOAD"

_PLAN = "plan"  # in the folder of a job

_MOST_OF_A_REASON = 300  # characters; damaged records may hold anything


class Programs(msgspec.Struct, frozen=True):
    """The programs that launches are made with."""

    family: Family
    installation: Installation
    launcher: Launcher
    probe: Path


class _Launch(msgspec.Struct, frozen=True):
    """The launch `sequence` of a suite of a campaign, which measures the plan `text`."""

    campaign: str
    suite: str
    sequence: int
    started: str
    text: str

    @property
    def id(self) -> str:
        return runs.run_id(self.campaign, self.suite, self.sequence)


class _Written(msgspec.Struct, frozen=True):
    """The records that a launch has left: its `records`, `whole` where it has written them to the
    end, and what is `bad` about them; for so long it had been silent."""

    records: list[ProbeRecord] = []
    whole: bool = False
    bad: ndjson.BadRecordsError | None = None
    silent_seconds: float = 0.0


def _no_parts(groups: int) -> list[PlanPart]:
    del groups
    return []


class Starter:
    """Starts the probe under one library and launcher; keeps nothing. Raises PlumblineError when
    the ranks are not where they were asked to be."""

    _by_choice = False  # launches start with what the library chooses anyway: `_choice`
    _panel: panel.Panel | None = None  # ranks that stay alive between launches
    _experiment = panel.PanelExperiment()  # what the next launch is a sample of

    def __init__(
        self,
        programs: Programs,
        *,
        placement: Placement,
        timeout_seconds: float,
        fixed: Mapping[str, str] | None = None,
        preloaded: Sequence[str] = (),
    ) -> None:
        """`fixed`: variables that are in force in every launch; `preloaded`: what every launch
        preloads of the user's. Exported files put ours before it."""
        self.family = programs.family
        self.placement = placement
        self._fixed = dict(fixed or {})
        if preloaded:
            self._fixed[PRELOAD] = ":".join(preloaded)
        self._installation = programs.installation
        self._launcher = programs.launcher
        self._probe = programs.probe
        self._timeout_seconds = timeout_seconds
        self._choice: dict[str, str] = {}
        self._parts_of: PartsOf = _no_parts  # of the plan of the next launch

    def clean_environment(self) -> dict[str, str]:
        """This process's environment without what would change the measurement."""
        environment = os.environ | self._installation.environment
        for name in (*self.family.settings_in(environment), THREADS, MPI_T):
            environment.pop(name, None)
        return environment | self.family.environment(self._installation) | self._fixed

    def start_by_choice(self) -> None:
        """Start launches from now on with what the library chooses anyway, and do not try the rest
        of it again, nor open it for MPI_T where no knob is set. One launch of next to nothing finds
        out what that is, once. What somebody has set stays."""
        if self._by_choice or not isinstance(self.family, ChoosesAtStart):
            return
        shared = None if self._panel is None or self._panel.placement is None else self._panel
        chosen = None if shared is None else shared.choice
        if chosen is None:
            chosen = self._ask_choice(self.family, shared)
        if shared is not None:
            shared.choice = chosen
        if chosen is not None:
            self._choice = {name: chosen[name] for name in chosen if name not in self._fixed}
            self._by_choice = True

    def _ask_choice(
        self, family: ChoosesAtStart, shared: panel.Panel | None
    ) -> dict[str, str] | None:
        """Return what the library chooses, on the ranks that campaigns share if there are any; None
        where these cannot be started."""
        case = PlanCase("MPI_Bcast", 64)
        text = Plan("choice", 1, (case,), blocks=1, reps=1, warmup=0).text()
        launcher = self._launcher if shared is None else shared.launcher
        placement = None if shared is None else shared.placement
        with launcher.folder("choice") as folder:
            job = self._job("choice", folder, text, family.choice_talk, placement)
            done = launcher.run(self.family, self._installation, job)
        return family.choice(done.stderr) if done.status == 0 else None

    def refusal(self, text: str) -> str | None:
        """Return why the probe would not take the plan `text`; None when it would."""
        with scratch.folder() as folder:
            file = folder / "plan"
            file.write_text(text)
            words = [str(self._probe), "--check-plan", str(file)]
            done = self._launcher.alone(self._installation, words, 60)
        return done.stderr.strip()[-500:] if done.status != 0 else None

    def require(self, text: str, what: str = "this") -> None:
        """Raises UsageError where the probe would not take the plan `text`."""
        refusal = self.refusal(text)
        if refusal is not None:
            raise UsageError(f"the probe refuses {what}: {refusal}")

    @contextlib.contextmanager
    def keeping_ranks(self, shared: panel.Panel | None = None) -> Iterator[None]:
        """Until the block ends, ranks stay alive between launches (panel.py), where the launcher
        can keep them; those of `shared`, which several campaigns visit, until it is closed."""
        if shared is not None:
            self._panel = shared
            try:
                yield
            finally:
                self._panel = None
                shared.end_own()
            return
        if not isinstance(self._launcher, panel.KeepsRanks):
            yield
            return
        with panel.Panel(self.family, self._installation, self._launcher) as self._panel:
            try:
                yield
            finally:
                self._panel = None

    def begin(self, experiment: panel.PanelExperiment, parts: PartsOf = _no_parts) -> None:
        """The next launch is a sample of `experiment`. `parts` of its plan may be measured at the
        same time; where one of them fails, the launch is made without."""
        self._experiment = experiment
        self._parts_of = parts

    def withdraw(self) -> None:
        """The last launch is used for no decision: another one may have the same ranks."""
        if self._panel is not None:
            self._panel.withdraw(self._experiment)

    @contextlib.contextmanager
    def folder(self, id: str) -> Iterator[Path]:
        """Make a folder for files that launches read, as long as the context lasts: where ranks can
        see them."""
        with self._launcher.folder(id) as folder:
            yield folder

    @property
    def may_differ(self) -> frozenset[str]:
        """Factors that the launcher does not keep the same."""
        of_a_scheduler = isinstance(self._launcher, InAllocation)
        return frozenset({"hosts"}) if of_a_scheduler else frozenset()

    @property
    def plain(self) -> Placement | None:
        """Return where a plain mpirun of the user puts the ranks, if launches have them elsewhere
        though nobody asked for that; else None."""
        by_mpirun = not isinstance(self._launcher, InAllocation) or self._launcher.by_mpirun
        if not self.placement.held or not by_mpirun:
            return None
        plain = self.placement.plain()
        differs = self.family.words(plain) != self.family.words(self.placement)
        return plain if differs else None

    def start(
        self,
        campaign: str,
        suite: str,
        sequence: int,
        text: str,
        extra: dict[str, str],
        placement: Placement | None = None,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        """One launch of the plan `text`; `extra` is its environment beyond the clean one,
        `placement` another one than that of all launches."""
        launch = _Launch(campaign, suite, sequence, _now(), text)
        with self._launcher.folder(launch.id) as folder:
            job = self._job(launch.id, folder, text, extra, placement)
            visited = self._side_by_side(job, launch) or self._visited(job, launch)
            if visited is not None:
                return visited
            done = self._launcher.run(self.family, self._installation, job)
            return self._result(job, done, launch, self._written(folder / RECORDS, done, text))

    def _visited(self, job: Job, launch: _Launch) -> tuple[Run, Sequence[ProbeRecord]] | None:
        """The launch in ranks that stay alive; None where it needs ranks of its own. A library that
        counts messages reports them when MPI is finalised."""
        if self._panel is None or self._counts_messages(job.extra):
            return None
        visit = self._panel.visit(self._serves(job), self._experiment)
        if visit is None:
            self._panel.close()
            self._panel = None
            return None
        written = self._written(job.folder / RECORDS, visit.finished, launch.text)
        run, records = self._result(job, visit.finished, launch, written)
        if visit.finished.status != panel.REFUSED and (
            not run.finished or panel.is_doubtful(records)
        ):
            self._panel.end(visit.member)
        run = msgspec.structs.replace(run, member=visit.member, visit=visit.number)
        return run, visit.corrected(records)

    def _serves(self, job: Job) -> Job:
        return msgspec.structs.replace(job, program=[str(self._probe), "--serve"])

    def _side_by_side(self, job: Job, launch: _Launch) -> tuple[Run, Sequence[ProbeRecord]] | None:
        """The launch in groups of ranks that stay alive, each of which measures a part of the plan;
        None where it has no parts, or one of them fails."""
        if self._panel is None or self._counts_messages(job.extra):
            return None
        serves = self._serves(job)
        own = self._parts_of(self._panel.groups(serves, self._experiment))
        if not own:
            return None
        for group, part in enumerate(own):
            panel.beside(job.folder / _PLAN, group).write_text(part.plan.text())
        visit = self._panel.visit(serves, self._experiment, len(own))
        written = []
        if visit is not None:
            for group, part in enumerate(own):
                record_file = panel.beside(job.folder / RECORDS, group)
                written.append(self._written(record_file, visit.finished, part.plan.text()))
        (job.folder / _PLAN).write_text(launch.text)
        (job.folder / RECORDS).unlink(missing_ok=True)
        if visit is None:
            return None
        if visit.finished.status != 0 or not all(
            each.whole and not each.bad and not panel.is_doubtful(each.records) for each in written
        ):
            self._panel.end(visit.member)
            return None
        whole = _Written(joined(own, [each.records for each in written]), whole=True)
        run, records = self._result(job, visit.finished, launch, whole)
        return msgspec.structs.replace(run, member=visit.member, visit=visit.number), records

    def _job(
        self,
        id: str,
        folder: Path,
        text: str,
        extra: dict[str, str],
        placement: Placement | None = None,
    ) -> Job:
        plan_file, record_file = folder / _PLAN, folder / RECORDS
        if self._by_choice:
            extra = self._spared(text, extra)
        try:
            plan_file.write_text(text)
        except OSError as error:
            raise PlumblineError(
                f"cannot write {plan_file}: {error.strerror}; free space and run the same command "
                "again"
            ) from error
        return Job(
            id=id,
            program=[str(self._probe), "--plan", str(plan_file), "--out", str(record_file)],
            placement=placement or self.placement,
            folder=folder,
            environment=self.clean_environment() | extra,
            extra=self.beyond(extra),
            of_launch=extra,
            timeout_seconds=self._timeout_seconds,
        )

    def _spared(self, text: str, extra: dict[str, str]) -> dict[str, str]:
        """`extra` with what a start by choice adds; to count messages takes another choice."""
        choice = {} if self._counts_messages(extra) else self._choice
        sets_knobs = self._experiment.sets_knobs or "\nconfig " in text
        return choice | extra | ({} if sets_knobs else {MPI_T: "none"})

    def _counts_messages(self, extra: Mapping[str, str]) -> bool:
        if not isinstance(self.family, CountsMessages) or not self.family.counting:
            return False
        return self.family.counting.items() <= extra.items()

    def beyond(self, extra: Mapping[str, str]) -> dict[str, str]:
        """Return what a launch has beyond a clean environment. Where a list of mpirun's says for
        its ranks what they preload, the variable beside it would take its place."""
        variables = self._fixed | dict(extra)
        if any(f"{PRELOAD}=" in value for value in extra.values()):
            variables.pop(PRELOAD, None)
        return variables

    def _result(
        self,
        job: Job,
        done: process.Finished,
        launch: _Launch,
        written: _Written,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        records = written.records
        failure = self._failure(done, written, launch.text)
        self._require_place(job, records)
        footer = next((record for record in records if isinstance(record, Footer)), None)
        run = Run(
            id=job.id,
            campaign=launch.campaign,
            suite=launch.suite,
            sequence=launch.sequence,
            failure=failure,
            argv=done.argv,
            environment=job.extra,
            plan=launch.text,
            stderr=done.stderr,
            started=launch.started,
            seconds=done.seconds,
            timed_seconds=footer.timed_ns / 1e9 if footer else 0.0,
        )
        return run, records

    def _written(self, record_file: Path, done: process.Finished, text: str) -> _Written:
        whole = record_file.is_file()
        part = record_file.with_name(record_file.name + ".part")
        if not (whole or part.is_file()):
            return _Written()
        silent_seconds = time.time() - part.stat().st_mtime if part.is_file() else 0.0
        file, seconds = record_file if whole else part, self._seconds_of(done)
        try:
            records = ndjson.decode(file, partial=not whole, plan=text, seconds=seconds)
        except ndjson.BadRecordsError as error:
            return _Written(error.records, whole, error, silent_seconds)
        return _Written(records, whole, None, silent_seconds)

    def _seconds_of(self, done: process.Finished) -> float:
        """Return what its times cannot exceed: simulated ones go by another clock."""
        return math.inf if self._launcher.name == "simulated" else done.seconds

    def _require_place(self, job: Job, records: Sequence[ProbeRecord]) -> None:
        if isinstance(self._launcher, Typed):
            return
        header = next((record for record in records if isinstance(record, Header)), None)
        wrong = header and placement.mismatch(header, job.placement, machine.domains())
        if wrong:
            raise PlumblineError(
                f"the launch is not in force as it was asked for: {wrong}; ask for a layout that "
                "this library and this machine can do (nodes, bind, map_by, the table hosts)"
            )

    def _failure(self, done: process.Finished, written: _Written, text: str) -> Failure | None:
        """Return why a launch counts as failed; None when it does not. One that still wrote records
        when its time was up has too long a plan, and no case is to blame. Whose records are bad may
        have been corrupted by what was under way."""
        records, bad = written.records, written.bad
        complaint = self.family.complaint(done.stderr) or self.family.complaint(done.stdout)
        if done.timed_out and records and written.silent_seconds < self._timeout_seconds / 4:
            return Failure(
                "too long",
                f"not at its end after {self._timeout_seconds:g} s, but going on: raise "
                "launch_timeout_seconds, or measure fewer sizes",
            )
        if done.timed_out:
            failure = Failure("hung", f"no end after {self._timeout_seconds:g} s")
        elif done.status != 0:
            failure = ended(done.status)
        elif bad:
            where = f"bad records, line {bad.line}: {bad.what[:_MOST_OF_A_REASON]}"
            failure = Failure("bad records", where)
        elif not written.whole:
            failure = Failure("no records", "no records")
        elif complaint:
            return Failure("not in force", f"the library did not take a setting: {complaint}")
        else:
            return None
        case = under_way(records) if bad is None or bad.case is None else bad.case
        return with_case(failure, text, case)


def ended(status: int) -> Failure:
    """Return how a program has ended: `SIGSEGV, exit status 139`. A launcher adds 128 to the number
    of the signal that has ended a rank."""
    number = -status if status < 0 else status - 128
    try:
        how = f"{signal.Signals(number).name}, exit status {status}"
    except ValueError:
        how = f"exit status {status}"
    return Failure("ended", how)


def with_case(failure: Failure, plan: str, case: int | None) -> Failure:
    """The same with the case of its plan that was under way (None: none)."""
    if case is None:
        return failure
    return msgspec.structs.replace(failure, case=case, under_way=named_in(plan, case))


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def under_way(records: Sequence[ProbeRecord]) -> int | None:
    """Return the case a launch was busy with when its records end: the one whose check had begun,
    else the one that was timed. None where there is none."""
    begun: int | None = None
    timed: int | None = None
    for record in records:
        if isinstance(record, Begin):
            begun = record.case
        elif isinstance(record, Check):
            begun = None
        elif isinstance(record, UnderWay):
            timed = record.case
    return timed if begun is None else begun
