"""A campaign on the simulated library, and what watches it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from plumbline.daemon import canary, looking, watched
from plumbline.daemon.configuration import Applying, CanaryTable, DaemonConfiguration, Neighbour
from plumbline.daemon.step import DaemonStep, Work
from plumbline.daemon.taking import Advance
from plumbline.daemon.watched import Here
from plumbline.daemon.watcher import Watcher
from plumbline.launch.starter import Starter
from plumbline.measure.launches import Silent
from plumbline.settings import Settings
from plumbline.settings.identity import settings_of
from plumbline.settings.toolchain import Toolchain
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.records import Campaign
from plumbline_db.watching import Canary
from tests.tuner import planted, whole
from tests.tuner.simulated import Costs, SimulatedStarter, toolchain

START = datetime(2026, 11, 24, 12, tzinfo=UTC)
SETTINGS = planted.settings()


class Clock:
    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, **length: float) -> None:
        self.now += timedelta(**length)


def configuration(folder: Path, **changes: object) -> DaemonConfiguration:
    """Nothing is applied to the files of whoever runs the tests."""
    found = DaemonConfiguration(
        canary=CanaryTable(
            launches=2, samples=1, learning=20, cells=24, references=12, recheck_launches=8
        ),
        apply=Applying(scope="modules", modules=str(folder / "modules")),
        neighbour=Neighbour(load=1000.0, node_seconds_a_day=1e6, node_seconds_a_week=1e7),
    )
    return msgspec.structs.replace(found, **changes)


@dataclass
class Site:
    """A database with a finished campaign, and a machine whose costs a test may change."""

    db: Database
    campaign: Campaign
    folder: Path
    starter: SimulatedStarter
    configuration: DaemonConfiguration
    clock: Clock = field(default_factory=Clock)

    @property
    def costs(self) -> Costs:
        return self.starter._costs

    @property
    def settings(self) -> Settings:
        return settings_of(self.campaign.settings)

    def find(
        self, settings: Settings, prefix: Path | None, beside: Path
    ) -> tuple[Toolchain, Starter]:
        return toolchain(), self.starter

    def work(self) -> Work:
        here = Here(toolchain(), self.starter)
        there = watched.files_in_force(self.db, self.campaign, here, self.configuration.apply)
        return Work(
            self.db,
            self.campaign,
            self.settings,
            here,
            self.configuration,
            there,
            self.clock,
            Silent(),
        )

    def facts(self, work: Work) -> dict[str, str]:
        tools = work.here.toolchain
        return looking.fingerprint_facts(
            tools.machine, tools.installation.library, tools.knobs, None, work.in_force
        )

    def watcher(self) -> Watcher:
        return Watcher(self.configuration, self.clock, self.find)

    def changed(self, **groups: object) -> None:
        """Other values of the configuration: `search={"open": False}`."""
        for name, values in groups.items():
            table = msgspec.structs.replace(getattr(self.configuration, name), **values)
            self.configuration = msgspec.structs.replace(self.configuration, **{name: table})

    def canary(self) -> Canary:
        """The next one, an hour later."""
        self.clock.sleep(hours=1)
        work = self.work()
        canary.begin_watching(work, self.facts(work))
        return canary.take(work, self.clock())

    def canaries(self, count: int) -> list[Canary]:
        return [self.canary() for _ in range(count)]


def run_campaign(folder: Path) -> None:
    starter = SimulatedStarter(planted.costs())
    with Database.open(folder / "plumbline.db", write=True) as db:
        whole.campaign(db, starter, SETTINGS, folder / "exports")


class Learned(NamedTuple):
    """A folder with a database whose cells are learned, and the time of its last canary."""

    folder: Path
    now: datetime


def advance(site: Site, watcher: Watcher, count: int) -> list[Advance]:
    """Take steps, an hour apart."""
    found = []
    for _ in range(count):
        site.clock.sleep(hours=1)
        found.append(watcher.advance(site.db))
    return found


def learn(site: Site, watcher: Watcher) -> None:
    """Take 22 canaries, and fail if the daemon tells anybody of one."""
    for done in advance(site, watcher, 22):
        assert (done.step, done.error, done.told) == (DaemonStep.CANARY, "", []), done


@contextmanager
def opened(folder: Path, costs: Costs, **changes: object) -> Iterator[Site]:
    starter = SimulatedStarter(costs, case_noise=0.01)
    with Database.open(folder / "plumbline.db", write=True) as db:
        campaign = campaigns.get(db, None)
        yield Site(db, campaign, folder, starter, configuration(folder, **changes))


def slower(found: Site, cells: Mapping[tuple[str, int], float]) -> None:
    """From now on."""
    found.costs.everything.update(cells)
