"""Launches: from a plan to records in the database, each launch once.

A launch is known by (campaign, suite, sequence). One that is in the database is never started
again: a campaign that was interrupted replays its decisions from what is stored, and goes on
where the records end. A launch that fails is an outcome, kept with its reason, never an exception;
only a library that cannot start the probe at all is."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from plumbline import factors, machine, process, readback
from plumbline.launch import RECORDS, Job, Launcher
from plumbline.launch.batch import Queue
from plumbline.libraries import Family, Installation
from plumbline.placement import Placement
from plumbline.plan import Plan, PlanCase
from plumbline_db import events, ndjson, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import (
    Begin,
    Check,
    Event,
    Footer,
    Header,
    Order,
    ProbeRecord,
    Run,
    Samples,
)

# How the reason begins of a launch that was ended when its time was up.
NO_END = ("no end after", "not at its end after")


class Progress(Protocol):
    """Told of each launch; shows it to people."""

    def launched(self, suite: str, run: Run) -> None: ...

    def step(self, text: str) -> None: ...


class Silent:
    def launched(self, suite: str, run: Run) -> None:
        del suite, run

    def step(self, text: str) -> None:
        del text


class Outcome(msgspec.Struct, frozen=True):
    """A launch and, when it failed, the case that was under way (an index into its plan)."""

    run: Run
    culprit: int | None
    stored: bool


class Starter:
    """Starts the probe under one library and launcher; keeps nothing. Raises PlumblineError when
    the ranks are not where they were asked to be."""

    _queue: Queue | None = None  # the launcher, where it hands jobs to a scheduler

    def __init__(
        self,
        *,
        family: Family,
        installation: Installation,
        launcher: Launcher,
        probe: Path,
        placement: Placement,
        timeout_seconds: float,
        fixed: Mapping[str, str] | None = None,
    ) -> None:
        """`fixed`: variables that are in force in every launch."""
        self.family = family
        self.placement = placement
        self._fixed = dict(fixed or {})
        self._installation = installation
        self._launcher = launcher
        if isinstance(launcher, Queue):
            self._queue = launcher
        self._probe = probe
        self._timeout_seconds = timeout_seconds

    def clean_environment(self) -> dict[str, str]:
        """This process's environment without what would change the measurement."""
        environment = os.environ | self._installation.environment
        for name in self.family.settings_in(environment):
            del environment[name]
        return environment | self.family.environment(self._installation) | self._fixed

    def refusal(self, text: str) -> str | None:
        """Why the probe would not take the plan `text`; None when it would."""
        with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
            file = Path(folder, "plan")
            file.write_text(text)
            words = [str(self._probe), "--check-plan", str(file)]
            done = self._launcher.alone(self._installation, words, 60)
        return done.stderr.strip()[-500:] if done.status != 0 else None

    @contextlib.contextmanager
    def folder(self, id: str) -> Iterator[Path]:
        """For files that launches read, as long as the context lasts: where ranks can see them."""
        with self._launcher.folder(id) as folder:
            yield folder
        if self._queue:
            self._queue.stored(id)

    @property
    def at_once(self) -> int:
        """Launches that may be under way at the same time."""
        return self._queue.at_once if self._queue else 1

    @property
    def jobs_stay(self) -> bool:
        """Launches go on when this process is killed, and may begin later."""
        return self._queue is not None

    @property
    def may_differ(self) -> frozenset[str]:
        """Factors that the launcher does not keep the same."""
        return frozenset({"hosts"}) if self._queue and self._queue.nodes_may_differ else frozenset()

    def events(self, id: str) -> list[Event]:
        """What has happened to the launch `id` on its way."""
        return self._queue.events(id) if self._queue else []

    def keep_apart(self, mark: str) -> None:
        """The files of jobs from those of another campaign with this id (another database)."""
        if self._queue:
            self._queue.keep_apart(mark)

    def stored(self, id: str) -> None:
        """The launch is in the database."""
        if self._queue:
            self._queue.stored(id)

    def refused(self, id: str) -> None:
        """The launch is at its end, and is not taken."""
        if self._queue:
            self._queue.refused(id)

    def start(
        self, campaign: str, suite: str, sequence: int, text: str, extra: dict[str, str]
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        """One launch of the plan `text`; `extra` is its environment beyond the clean one."""
        id, started = run_id(campaign, suite, sequence), _now()
        with self._launcher.folder(id) as folder:
            job = self._job(id, folder, text, extra)
            done = self._launcher.run(self.family, self._installation, job)
            return self._result(job, done, started, (campaign, suite, sequence), text)

    def start_together(
        self, campaign: str, suite: str, texts: Mapping[int, str], extra: dict[str, str]
    ) -> Generator[tuple[Run, Sequence[ProbeRecord]], None, None]:
        """Launches of the plans `texts`, by sequence, all under way at the same time; each comes
        when it is at its end."""
        if self._queue is None:
            raise ValueError("this launcher has one launch under way at a time")
        started = _now()
        with contextlib.ExitStack() as folders:
            jobs = []
            for sequence, text in texts.items():
                id = run_id(campaign, suite, sequence)
                folder = folders.enter_context(self._queue.folder(id))
                jobs.append(self._job(id, folder, text, extra))
            ends = self._queue.run_all(self.family, self._installation, jobs)
            with contextlib.closing(ends):
                for number, done in ends:
                    sequence = list(texts)[number]
                    key = (campaign, suite, sequence)
                    yield self._result(jobs[number], done, started, key, texts[sequence])

    def _job(self, id: str, folder: Path, text: str, extra: dict[str, str]) -> Job:
        plan_file, record_file = folder / "plan", folder / RECORDS
        # A job that is under way already may be reading it.
        if not plan_file.is_file() or plan_file.read_text() != text:
            plan_file.write_text(text)
        return Job(
            id=id,
            program=[str(self._probe), "--plan", str(plan_file), "--out", str(record_file)],
            placement=self.placement,
            folder=folder,
            environment=self.clean_environment() | extra,
            extra=self._fixed | extra,
            timeout_seconds=self._timeout_seconds,
        )

    def _result(
        self,
        job: Job,
        done: process.Finished,
        started: str,
        key: tuple[str, str, int],
        text: str,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        record_file = job.folder / RECORDS
        whole = record_file.is_file()
        part = record_file.with_name(record_file.name + ".part")
        silent_seconds = (
            time.time() - part.stat().st_mtime - done.ended_seconds_ago if part.is_file() else 0.0
        )
        records = (
            ndjson.decode(record_file)
            if whole
            else ndjson.decode(part, partial=True)
            if part.is_file()
            else []
        )
        reason = self._reason(done, whole, records, silent_seconds)
        self._require_place(job.id, records)
        footer = next((one for one in records if isinstance(one, Footer)), None)
        campaign, suite, sequence = key
        run = Run(
            id=job.id,
            campaign=campaign,
            suite=suite,
            sequence=sequence,
            outcome="failed" if reason else "finished",
            reason=reason,
            argv=done.argv,
            environment=job.extra,
            plan=text,
            stderr=done.stderr,
            started=started,
            seconds=done.seconds,
            timed_seconds=footer.timed_ns / 1e9 if footer else 0.0,
        )
        return run, records

    def _require_place(self, id: str, records: Sequence[ProbeRecord]) -> None:
        header = next((one for one in records if isinstance(one, Header)), None)
        # What the cores of a cluster's nodes are, a login node does not know.
        domains = {} if self._queue else machine.domains()
        wrong = header and readback.mismatch(header, self.placement, domains)
        if wrong:
            self.refused(id)
            raise PlumblineError(
                f"the launch is not in force as it was asked for: {wrong}; ask for a layout that "
                "this library and this machine can do (nodes, bind, map_by, the table hosts)"
            )

    def _reason(
        self,
        done: process.Finished,
        whole: bool,
        records: Sequence[ProbeRecord],
        silent_seconds: float,
    ) -> str:
        """Why a launch counts as failed; empty when it does not. One that still wrote records when
        its time was up has too long a plan, and no case is to blame."""
        complaint = self.family.complaint(done.stderr) or self.family.complaint(done.stdout)
        if done.timed_out and records and silent_seconds < self._timeout_seconds / 4:
            return (
                f"{NO_END[1]} {self._timeout_seconds:g} s, but going on: raise "
                "launch_timeout_seconds, or measure fewer sizes"
            )
        if done.timed_out:
            how = f"{NO_END[0]} {self._timeout_seconds:g} s"
        elif done.status != 0:
            how = f"exit status {done.status}"
        elif not whole:
            how = "no records"
        elif complaint:
            return f"the library did not take a setting: {complaint}"
        else:
            return ""
        case = under_way(records)
        return how if case is None else f"{how}, with case {case} under way"


def run_id(campaign: str, suite: str, sequence: int) -> str:
    return f"{campaign}/{suite}-{sequence:03d}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


class Laboratory:
    """Starts launches for one campaign and keeps every one of them. `spent_seconds` is the wall
    time of the launches this process has asked for, stored or started: a decision that rests on it
    comes out the same when a campaign is replayed."""

    def __init__(
        self, db: Database, campaign: str, starter: Starter, progress: Progress | None = None
    ) -> None:
        self.db = db
        self.campaign = campaign
        self.starter = starter
        self.progress = progress or Silent()
        self.spent_seconds = 0.0

    def launch(
        self, suite: str, sequence: int, plan: Plan, environment: Mapping[str, str]
    ) -> Outcome:
        """The launch (suite, sequence): from the database when it is there, else from the machine.

        `environment` is what this launch has beyond the clean environment (hot switches, exported
        files in force). Raises PlumblineError when the stored launch had another plan, or when this
        one ran under other conditions than those it would be joined with."""
        text = plan.text()
        stored = self._stored(suite, sequence, text)
        if stored is not None:
            return stored
        run, records = self.starter.start(self.campaign, suite, sequence, text, dict(environment))
        return self._keep(run, records)

    def launch_together(
        self, suite: str, plans: Mapping[int, Plan], environment: Mapping[str, str]
    ) -> dict[int, Outcome]:
        """The same for several launches, by sequence. Those that are to be started are under way at
        the same time, and each is kept as soon as it is at its end."""
        texts = {sequence: plan.text() for sequence, plan in plans.items()}
        found = {sequence: self._stored(suite, sequence, text) for sequence, text in texts.items()}
        outcomes = {sequence: one for sequence, one in found.items() if one is not None}
        missing = {sequence: text for sequence, text in texts.items() if found[sequence] is None}
        if missing:
            ends = self.starter.start_together(self.campaign, suite, missing, dict(environment))
            with contextlib.closing(ends):
                for run, records in ends:
                    outcomes[run.sequence] = self._keep(run, records)
        return {sequence: outcomes[sequence] for sequence in plans}

    def _stored(self, suite: str, sequence: int, text: str) -> Outcome | None:
        stored = runs.get(self.db, self.campaign, suite, sequence)
        if stored is None:
            return None
        if stored.plan != text:
            raise PlumblineError(
                f"launch {suite} {sequence} of campaign {self.campaign} was made with another "
                "plan (another version of Plumbline?); start afresh with --new"
            )
        self._settle(stored)
        self.spent_seconds += stored.seconds
        return Outcome(run=stored, culprit=culprit(stored), stored=True)

    def _keep(self, run: Run, records: Sequence[ProbeRecord]) -> Outcome:
        try:
            self._require_same_conditions(run, records)
        except PlumblineError:
            self.starter.refused(run.id)
            raise
        runs.put(self.db, run, records)
        if run.outcome == "failed":
            events.put(
                self.db,
                self.campaign,
                Event(time=run.started, kind="launch failed", text=f"{run.id}: {run.reason}"),
            )
        self._settle(run)
        self.spent_seconds += run.seconds
        self.progress.launched(run.suite, run)
        return Outcome(run=run, culprit=culprit(run), stored=False)

    def _settle(self, run: Run) -> None:
        """What a launcher keeps of a launch until it is stored is not needed any more."""
        found = self.starter.events(run.id)
        known = events.get(self.db, self.campaign) if found else []
        for event in found:
            if event not in known:  # put before a kill, or kept
                events.put(self.db, self.campaign, event)
        self.starter.stored(run.id)

    def _require_same_conditions(self, run: Run, records: Sequence[ProbeRecord]) -> None:
        """Raises PlumblineError, before the launch is stored, when what run times depend on is not
        as it was in the first launch of the campaign and of the suite."""
        header = next((one for one in records if isinstance(one, Header)), None)
        if run.outcome == "failed" or header is None:
            return
        for suite in (None, run.suite):
            first = runs.first_header(self.db, self.campaign, suite)
            if first is not None:
                factors.require_joinable(
                    [first, (f"{run.id}, now", header)],
                    across_suites=suite is None,
                    may_differ=self.starter.may_differ,
                )


class Series:
    """Launches of one plan under one name, each with a seed of its own. A case under which a launch
    fails is left out of the following ones."""

    def __init__(
        self, lab: Laboratory, suite: str, plan: Plan, environment: Mapping[str, str]
    ) -> None:
        self.dropped: set[PlanCase] = set()
        self._lab = lab
        self._suite = suite
        self._plan = plan
        self._environment = environment
        self._sequence = 0
        self._blameless = 0

    def advance(self, launches: int = 1) -> None:
        """Goes on until `launches` more launches have finished, in rounds of as many as may be
        under way at once; those of a round have the same cases. Raises PlumblineError when launches
        fail and no case is to blame."""
        missing = launches
        while missing:
            missing -= self._round(min(missing, self._lab.starter.at_once))

    def _round(self, count: int) -> int:
        """How many of `count` launches have finished."""
        cases = tuple(case for case in self._plan.cases if case not in self.dropped)
        plans = {
            sequence: msgspec.structs.replace(
                self._plan,
                name=f"{self._suite}-{sequence:03d}",
                seed=self._plan.seed + sequence,
                cases=cases,
            )
            for sequence in range(self._sequence, self._sequence + count)
        }
        if count == 1:
            ((sequence, plan),) = plans.items()
            outcome = self._lab.launch(self._suite, sequence, plan, self._environment)
            outcomes = [outcome]
        else:
            outcomes = list(
                self._lab.launch_together(self._suite, plans, self._environment).values()
            )
        self._sequence += count
        return sum(self._judge(outcome, cases) for outcome in outcomes)

    def _judge(self, outcome: Outcome, cases: Sequence[PlanCase]) -> bool:
        """Whether the launch has finished; one that has not may have a case to drop."""
        if outcome.run.outcome == "finished":
            return True
        if outcome.culprit is not None:
            self.dropped.add(cases[outcome.culprit])
            return False
        if outcome.stored:
            return False  # what failed then may be put right now
        self._blameless += 1
        if self._blameless >= 3:
            raise PlumblineError(
                f"three launches of {self._suite} failed and no case is to blame; the last one: "
                f"{outcome.run.reason}\n{outcome.run.stderr[-1500:].strip()}\n"
                "`plumbline doctor` tries the steps one by one; the same command goes on"
            )
        return False


def under_way(records: Sequence[ProbeRecord]) -> int | None:
    """The case a launch was busy with when its records end: the one whose check had begun, or the
    first in a block's order without samples. None before the first and after the last."""
    begun: int | None = None
    order: Order | None = None
    done: set[tuple[int, int]] = set()
    for record in records:
        if isinstance(record, Begin):
            begun = record.case
        elif isinstance(record, Check):
            begun = None
        elif isinstance(record, Order):
            order = record
        elif isinstance(record, Samples):
            done.add((record.case, record.block))
    if begun is not None or order is None:
        return begun
    return next((case for case in order.cases if (case, order.block) not in done), None)


_UNDER_WAY = re.compile(r"with case (\d+) under way\Z")


def culprit(run: Run) -> int | None:
    """The case (a number in the launch's plan) that a failed launch is blamed on."""
    found = _UNDER_WAY.search(run.reason)
    return int(found[1]) if found and run.outcome == "failed" else None
