"""The things that a step of watching one campaign has at hand, and the object that its launches
tell."""

from __future__ import annotations

import math
from collections.abc import Callable

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
from plumbline_db.records import Campaign, Run, Suite
from plumbline_db.watching import WatchDay

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
