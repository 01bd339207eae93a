"""The steps that a configuration would lead to, and when: for `plumbline watch --check`. Starts
nothing, and writes nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.daemon import configuration_file, notify, watched
from plumbline.daemon.moments import Clock, iso
from plumbline.daemon.watcher import Watcher
from plumbline_db.connection import Database


class PlannedCampaign(msgspec.Struct, frozen=True):
    """`step` would be taken now; `because`: why it is none; `canary`: when one is due."""

    campaign: str
    step: str
    because: str
    canary: str
    missed: int


class Plan(msgspec.Struct, frozen=True):
    """`open_from`: when it may measure next, by windows and blackouts ("": never); `canaries`: so
    many a day at most; `told_by`: command, webhook."""

    file: str
    asks_for: list[str]
    campaigns: list[PlannedCampaign]
    open_from: str
    canaries_a_day: float
    cells: int
    learning_days: float
    auto_apply: bool
    scope: str
    told_by: list[str]


def read(database: Path, file: Path | None, clock: Clock) -> Plan:
    """Raises UsageError for the configuration, PlumblineError where nothing can be watched."""
    configuration = configuration_file.read(file)
    watcher = Watcher(configuration, clock)
    with Database.open(database) as db, db.snapshot():
        planned = watcher.plan(db)
    every = configuration.canary.interval.total_seconds()
    return Plan(
        file="" if file is None else str(file.absolute()),
        asks_for=list(watched.labels(configuration)),
        campaigns=[
            PlannedCampaign(
                asked.name, following.step.value, following.because, iso(due.at), due.missed
            )
            for asked, following, due in planned
        ],
        open_from=iso(configuration.schedule.times.next_open(clock())),
        canaries_a_day=86400 / every,
        cells=configuration.canary.cells,
        learning_days=configuration.canary.learning * every / 86400,
        auto_apply=configuration.apply.auto,
        scope=configuration.apply.scope,
        told_by=[*notify.ways_of(configuration.notify)],
    )
