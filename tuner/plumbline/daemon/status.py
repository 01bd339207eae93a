"""The state of watching, for `plumbline watch --status`: from the database alone."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from plumbline.daemon.cells import state_of
from plumbline.daemon.windows import Clock, iso, moment_of
from plumbline.watch.chart import (
    CellState,
    DetectorDesign,
    found_change,
    largest_scale,
    launches_of,
)
from plumbline_db import backups, campaigns, cost, lock, watching
from plumbline_db.connection import Database
from plumbline_db.lock import Holder
from plumbline_db.watching import Canary, CellAlarm, Retuning, Watch, WatchDay, WatchedCell

# The steps that a configuration would lead to, and when: for `plumbline watch --check`. Starts
# nothing, and writes nothing.


class _PlannedCampaign(msgspec.Struct, frozen=True):
    """`step` would be taken now; `because`: why it is none; `canary`: when one is due."""

    campaign: str
    step: str
    because: str
    canary: str
    missed: int


class WatchPlan(msgspec.Struct, frozen=True):
    """`open_from`: when it may measure next, by windows and blackouts ("": never); `canaries`: so
    many a day at most; `told_by`: command, webhook."""

    file: str
    asks_for: list[str]
    campaigns: list[_PlannedCampaign]
    open_from: str
    canaries_a_day: float
    cells: int
    learning_days: float
    auto_apply: bool
    scope: str
    told_by: list[str]


def read_plan(database: Path, file: Path | None, clock: Clock) -> WatchPlan:
    """Raises UsageError for the configuration, PlumblineError where nothing can be watched."""
    from plumbline.daemon import configuration as configuration_file
    from plumbline.daemon import notify, watched
    from plumbline.daemon.watcher import Watcher

    configuration = configuration_file.read(file)
    watcher = Watcher(configuration, clock)
    with Database.open(database) as db, db.snapshot():
        planned = watcher.plan(db)
    every = configuration.canary.interval.total_seconds()
    return WatchPlan(
        file="" if file is None else str(file.absolute()),
        asks_for=list(watched.labels(configuration)),
        campaigns=[
            _PlannedCampaign(
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


RECENT = timedelta(days=30)


class NoisyCell(msgspec.Struct, frozen=True):
    """`launches` of a canary would show ten per cent within six canaries, by the cell's noise with
    those that there are."""

    function: str
    variant: str
    bytes: int
    launches: int


class CampaignStatus(msgspec.Struct, frozen=True):
    """`cells` are watched besides `references`; so many of them are still `learning`. `age_seconds`
    of the whole table, which canaries do not replace; `table_cells` are in it. `resolution`: the
    smallest slow-down (0.1: ten per cent) that is found within six canaries in half of the cells;
    None: they are still learning, or not even a tenfold one is. `noisy`: cells in which one of ten
    per cent is not found so."""

    campaign: str
    table_finished: str
    age_seconds: float
    table_cells: int
    stale: str
    generation: int
    due: str
    cells: int
    references: int
    learning: int
    slowest: float
    resolution: float | None
    noisy: list[NoisyCell]
    canaries: int
    last: Canary | None


class KnownBackup(msgspec.Struct, frozen=True):
    """The newest one, whoever made it."""

    path: str
    made: str


class Status(msgspec.Struct, frozen=True):
    """`holder`: who watches now; None: nobody does. `alarms` are those of the last 30 days and all
    that are open; `retunings` likewise. `backup` None: none is known."""

    watch: Watch | None
    holder: Holder | None
    campaigns: list[CampaignStatus]
    alarms: list[CellAlarm]
    retunings: list[Retuning]
    days: list[WatchDay]
    backup: KnownBackup | None


def read(database: Path, now: datetime) -> Status:
    since = iso(now - RECENT)
    with Database.open(database) as db, db.snapshot():
        all_alarms = [alarm for _, alarm in watching.every(db)]
        searches = [retuning for _, retuning in watching.retunings(db)]
        return Status(
            watch=watching.get(db),
            holder=lock.watcher(database),
            campaigns=[_campaign(db, row.campaign, now) for row in watching.watched(db)],
            alarms=[alarm for alarm in all_alarms if alarm.is_open or alarm.found >= since],
            retunings=[
                retuning for retuning in searches if not retuning.ended or retuning.opened >= since
            ],
            days=watching.days(db, iso(now - timedelta(days=7))[:10]),
            backup=_backup(database),
        )


def _backup(database: Path) -> KnownBackup | None:
    newest = backups.newest_backup(database)
    if newest is None:
        return None
    return KnownBackup(str(newest), iso(datetime.fromtimestamp(newest.stat().st_mtime, UTC)))


def _campaign(db: Database, id: str, now: datetime) -> CampaignStatus:
    campaign, row = campaigns.get(db, id), watching.campaign(db, id)
    assert row is not None  # noqa: S101 - it is what was listed
    cells = watching.cells(db, id)
    own = [cell for cell in cells if cell.role != "reference"]
    finished = moment_of(campaign.finished)
    last = watching.canaries(db, id, last=1)
    states = {cell: state_of(cell) for cell in own}
    design = msgspec.json.decode(row.design, type=DetectorDesign)
    return CampaignStatus(
        campaign=id,
        table_finished=campaign.finished,
        age_seconds=(now - finished).total_seconds() if finished else 0.0,
        table_cells=cost.cells(db, [id]),
        stale=row.stale,
        generation=row.generation,
        due=row.due,
        cells=len(own),
        references=len(cells) - len(own),
        learning=sum(state.baseline is None for state in states.values()),
        slowest=max((cell.ratio for cell in own), default=1.0),
        resolution=_resolution(design, states),
        noisy=_noisy(design, states),
        canaries=row.canaries,
        last=last[0][1] if last else None,
    )


def _resolution(design: DetectorDesign, states: dict[WatchedCell, CellState]) -> float | None:
    """Return the resolution of the cell whose scale is the middle one."""
    baselines = [state.baseline for state in states.values() if state.baseline is not None]
    if not baselines:
        return None
    middle = sorted(baselines, key=lambda baseline: baseline.scale)[len(baselines) // 2]
    change = found_change(design, middle)
    return change if math.isfinite(change) else None


def _noisy(design: DetectorDesign, states: dict[WatchedCell, CellState]) -> list[NoisyCell]:
    """The worst one first. Scales fall with the root of the number of launches."""
    most = largest_scale(design)
    launches_needed = {
        cell: launches_of(design, state) * (state.baseline.scale / most) ** 2
        for cell, state in states.items()
        if state.baseline is not None and state.baseline.scale > most
    }
    return [
        NoisyCell(cell.function, cell.variant, cell.bytes, math.ceil(launches))
        for cell, launches in sorted(launches_needed.items(), key=lambda pair: -pair[1])
    ]
