"""The next step for a campaign that is watched: one pure function, of what is known; and the things
that a step has at hand, with the object that its launches tell. Each step ends in the database. So
after a kill what is known is what was known, and the same step is taken again, which finds what is
there of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

import msgspec
import numpy as np

from plumbline.core.plan import Plan, PlanCase
from plumbline.daemon.cells import CanaryCell
from plumbline.daemon.configuration import DaemonConfiguration
from plumbline.daemon.watched import Here, InForce
from plumbline.daemon.windows import Clock, iso
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore, Progress, Series, Silent
from plumbline.settings import Settings
from plumbline_db import runs, watching
from plumbline_db.connection import Database
from plumbline_db.errors import command_name
from plumbline_db.records import Campaign, Run, Suite
from plumbline_db.watching import WatchDay


class DaemonStep(Enum):
    """`CAMPAIGN`: the whole of it, for a table that is missing or out of date. `CONFIRM`: what was
    applied is measured, and kept or rolled back. `CANARY`: one, or the rest of one. `RECHECK`:
    alarms are confirmed or refuted. `SEARCH`: the cells of confirmed alarms are searched, and what
    is found is put in force. `WAIT`: nothing."""

    CAMPAIGN = "campaign"
    CONFIRM = "confirm"
    CANARY = "canary"
    RECHECK = "recheck"
    SEARCH = "search"
    WAIT = "wait"


class Situation(msgspec.Struct, frozen=True):
    """`table`: there is a finished campaign; `stale`: why its table is not of what is there. `may…`
    as the configuration says. `why_not`: nothing may be measured now. `under_way`: a canary was
    begun. `raised`, `confirmed`: alarms that are so. `searching`: a search was opened; `applied`:
    what one has found, and nobody confirmed. `due`: a canary is."""

    table: bool = True
    stale: str = ""
    may_run_whole: bool = False
    may_search: bool = True
    why_not: str = ""
    under_way: bool = False
    raised: bool = False
    confirmed: bool = False
    searching: bool = False
    applied: bool = False
    due: bool = False


class Next(msgspec.Struct, frozen=True):
    """`because`: why it waits, where something would be done but for that; else empty."""

    step: DaemonStep
    because: str = ""


NO_TABLE = f"no campaign is finished: run `{command_name()} campaign`, or set search.whole"


def following(situation: Situation) -> Next:
    """Return the next step: what was applied is confirmed before anything else is done. Alarms go
    before canaries: what is being confirmed is not to be learnt."""
    step = _wanted(situation)
    if step is DaemonStep.WAIT:
        return Next(step, _missing(situation))
    if situation.why_not:
        return Next(DaemonStep.WAIT, situation.why_not)
    return Next(step)


def _wanted(situation: Situation) -> DaemonStep:
    if not situation.table or situation.stale:
        return DaemonStep.CAMPAIGN if situation.may_run_whole else DaemonStep.WAIT
    if situation.applied:
        return DaemonStep.CONFIRM
    if situation.under_way:
        return DaemonStep.CANARY
    if situation.raised:
        return DaemonStep.RECHECK
    if situation.searching or (situation.confirmed and situation.may_search):
        return DaemonStep.SEARCH
    return DaemonStep.CANARY if situation.due else DaemonStep.WAIT


def _missing(situation: Situation) -> str:
    if not situation.table:
        return NO_TABLE
    if situation.stale:
        return f"{situation.stale}: run `{command_name()} campaign`, or set search.whole"
    return ""


# The quantile of the calls of a launch; docs/design/daemon.md has the reason.
QUARTILE = 0.25


class Paused(Exception):
    """A search stops between two launches, and goes on where it stands."""


class StepProgress(Silent):
    """Counts node-seconds; the watchdog hears of each launch, and a search gives way between two
    of them where it is not to go on. `nodes` of a launch; `may_not`: why the step is to pause ("":
    it goes on); `alive` is called after each launch."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        nodes: int,
        alive: Callable[[], None] = lambda: None,
        may_not: Callable[[], str] = lambda: "",
    ) -> None:
        self._db = db
        self._clock = clock
        self._nodes = nodes
        self._alive = alive
        self._may_not = may_not

    def launched(self, suite: str, run: Run) -> None:
        del suite
        today = iso(self._clock())[:10]
        watching.add(self._db, WatchDay(today, node_seconds=run.seconds * self._nodes))
        self._alive()
        if why := self._may_not():
            raise Paused(why)

    def step(self, text: str) -> None:
        del text
        self._alive()


class CellTimes(msgspec.Struct, frozen=True):
    """Seconds of each cell, one a launch, of those that all finished launches have: the lower
    quartile of its calls, which others on the machine move least. `seconds`: what the launches
    have taken."""

    times: dict[CanaryCell, list[float]]
    launches: int
    seconds: float


class Work(msgspec.Struct, frozen=True):
    """`campaign` is finished; `settings` are its own. `tries_again`: a search that an error ends
    is taken up again; else it has failed."""

    db: Database
    campaign: Campaign
    settings: Settings
    here: Here
    configuration: DaemonConfiguration
    in_force: InForce
    clock: Clock
    progress: Progress
    tries_again: bool = False

    def now(self) -> str:
        return iso(self.clock())

    def store(self) -> LaunchStore:
        return LaunchStore(self.db, self.campaign.id, self.here.starter, self.progress)

    def plan(self, cases: list[PlanCase]) -> Plan:
        """Return a plan with as many calls as canaries ask for; simulated calls are all the
        same."""
        plan = tables.plan(self.settings, list(dict.fromkeys(cases)))
        if self.settings.ranks.simulate is not None:
            return plan
        blocks = math.ceil(self.configuration.canary.samples / plan.reps)
        return msgspec.structs.replace(plan, blocks=max(plan.blocks, blocks))

    def measure(self, suite: Suite, plan: Plan, launches: int) -> CellTimes:
        """Launches with what is in force for users. Those that are stored are taken from there.
        Raises PlumblineError where they fail, or cannot be joined with those of the campaign."""
        series = Series(self.store(), suite, plan, self.in_force.environment)
        series.advance(launches)
        return self.measured(suite)

    def measured(self, suite: Suite) -> CellTimes:
        """Return what the launches of a suite say, as they are stored."""
        listed = runs.listing(self.db, self.campaign.id, [suite.name])
        finished = sum(run.finished for run in listed)
        times = {
            CanaryCell(samples.case.function, samples.case.variant, samples.case.bytes): [
                1e-9 * float(np.quantile(ns, QUARTILE)) for ns in samples.ns
            ]
            for samples in runs.launch_samples(self.db, self.campaign.id, [suite.name])
            if not samples.case.ranks and len(samples.ns) == finished
        }
        return CellTimes(times, finished, sum(run.seconds for run in listed))
