"""The first page: of each installation what is violated, what winners gain and how old that is, its
run times, what has changed since the campaign before, and what to do next."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from plumbline.pages import plot
from plumbline.pages.plot import Multiple
from plumbline.pages.visit import Nothing, Visit
from plumbline.results import headline, putting_in_use
from plumbline.system.words import counted
from plumbline_db import campaigns, coverage, verdicts, watching, winners
from plumbline_db.connection import Database
from plumbline_db.coverage import Coverage, StageCoverage
from plumbline_db.errors import typed
from plumbline_db.layout import is_simulated, use
from plumbline_db.records import Campaign, Verdict
from plumbline_db.verdicts import NewestVerdict

_OLD_DAYS = 90  # a table that is older is worth to be measured again
_UNDECIDED = 0.1  # share of a table's cells


class _NextStep(msgspec.Struct, frozen=True):
    """`command` is empty where `text` says why there is none. `run`: id of the run that it is
    about; empty: none."""

    text: str
    command: str
    run: str = ""


def steps_of(db: Database, every_campaign: Sequence[Campaign]) -> list[_NextStep]:
    """Return what concerns no single place, the most urgent step first."""
    if not every_campaign:
        return [_NextStep("The database contains no campaign yet.", typed("campaign"))]
    return [*_watched(db), *_unfinished(db, every_campaign)]


def _watched(db: Database) -> list[_NextStep]:
    waiting = [alarm for _, alarm in watching.every(db) if alarm.is_open]
    if not waiting:
        return []
    text = f"{counted(len(waiting), 'watched cell')} may have changed."
    return [_NextStep(text, typed("watch", "--status"), waiting[-1].campaign)]


def _unfinished(db: Database, every_campaign: Sequence[Campaign]) -> list[_NextStep]:
    """The campaign that runs, and the newest of those that were interrupted."""
    states = {
        campaign.id: campaigns.state(db, campaign)
        for campaign in every_campaign
        if not campaign.imported_from
    }
    running = [id for id, state in states.items() if state == "running"]
    steps = [
        _NextStep(f"{id} is running. What it has found so far:", typed("results", "--campaign", id))
        for id in running
    ]
    interrupted = [id for id, state in states.items() if state == "interrupted"]
    if interrupted:
        id = interrupted[-1]
        others = f" So were {len(interrupted) - 1} more." if interrupted[1:] else ""
        text = f"{id} was interrupted.{others} To continue it:"
        steps.append(_NextStep(text, typed("campaign", "--continue", id), id))
    return steps


def of_place(db: Database, each: Coverage, now: datetime.datetime) -> list[_NextStep]:
    place, before = each.place, each.stages.get("before")
    counts = before.guidelines.values() if before else ()
    violated = sum(count.violations for count in counts)
    steps = []
    if each.in_force and (won := winners.get(db, each.in_force)):
        use = putting_in_use.use(db, campaigns.get(db, each.in_force), won)
        text = use.refused or "Winners exist. To use them:"
        steps.append(_NextStep(text, use.command, each.in_force))
    elif before and "after" not in each.stages and violated:
        text = "Nothing was searched yet. To search what removes the violations:"
        steps.append(_NextStep(text, typed("campaign", "--nprocs", place.nprocs), before.newest))
    if before is None:
        return steps
    undecided = sum(count.undecided for count in counts)
    if undecided > _UNDECIDED * before.cells:
        text = f"{undecided} of {before.cells} cells are undecided. More launches decide:"
        command = typed("verify", "--nprocs", place.nprocs, "--set", "launches_max=60")
        steps.append(_NextStep(text, command, before.newest))
    if _days(before.newest_measured, now) > _OLD_DAYS:
        text = f"The newest table is older than {_OLD_DAYS} days. To measure it again:"
        steps.append(
            _NextStep(text, typed("campaign", "--nprocs", place.nprocs, "--new"), before.newest)
        )
    return steps


def _days(text: str, now: datetime.datetime) -> float:
    """Since a moment; 0 where it is no time."""
    try:
        then = datetime.datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    if then.tzinfo is None:
        then = then.replace(tzinfo=datetime.UTC)
    return (now - then).total_seconds() / 86400


_PLACES = 10  # those that were measured last
_WITH_CURVES = 3  # of them
_WORST = 8  # violations of a place
_CHANGES = 12  # of a place


class Change(msgspec.Struct, frozen=True):
    """A cell that held, or was violated, in the full table before the newest one."""

    campaign: str
    stage: str
    now: Verdict
    then: str


class PlaceNow(msgspec.Struct, frozen=True):
    """`stage`: what is in force, `after` where exported files are. `violated`: in every way of use
    that was measured; `more`: a text about other cells. `since`: the campaign that `changes` are
    counted from (None: there is nothing to compare with). `speedup`: the median of the winners in
    force (None: there are none). `steps`: what to do about this place."""

    coverage: Coverage
    stage: str
    violated: int
    more: str
    undecided: int
    before: int
    worst: list[NewestVerdict]
    since: str | None
    changes: list[Change]
    unseen: int
    simulated: bool
    speedup: float | None
    winners: int
    age: str
    multiples: list[Multiple]
    steps: list[_NextStep]

    @property
    def now(self) -> StageCoverage:
        return self.coverage.stages[self.stage]


def page(visit: Visit) -> Response:
    visit.asked(Nothing)
    every = coverage.of_campaigns(visit.db)
    every.sort(key=_measured, reverse=True)
    every.sort(key=lambda each: _is_simulated(visit, each))  # real machines first
    now = datetime.datetime.now(datetime.UTC)
    places = [
        _place_now(visit, each, now, curves=number < _WITH_CURVES)
        for number, each in enumerate(every[:_PLACES])
    ]
    every_campaign = campaigns.all_campaigns(visit.db)
    return visit.page(
        "overview.html",
        real=[place for place in places if not place.simulated],
        simulated=[place for place in places if place.simulated],
        more=len(every) - len(places),
        runs=every_campaign[::-1][:5],
        count=len(every_campaign),
        steps=steps_of(visit.db, every_campaign),
    )


def _measured(each: Coverage) -> str:
    return max((stage.newest_measured for stage in each.stages.values()), default="")


def _is_simulated(visit: Visit, each: Coverage) -> bool:
    stage = "after" if "after" in each.stages else "before"
    return stage in each.stages and is_simulated(campaigns.get(visit.db, each.stages[stage].newest))


def _age(text: str, now: datetime.datetime) -> str:
    """`5 min`, `3 h` or `12 days` since a moment."""
    seconds = 86400 * _days(text, now)
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.0f} days"


def _place_now(visit: Visit, each: Coverage, now: datetime.datetime, *, curves: bool) -> PlaceNow:
    stage = "after" if "after" in each.stages else "before"
    verdict = verdicts.newest_of_place(visit.db, each, stage)
    violated = [cell for cell in verdict if cell.verdict.violated_everywhere]
    violated.sort(key=lambda cell: cell.verdict.ratio or 0.0, reverse=True)
    changes = _changes(visit, each, stage)
    before = each.stages.get("before")
    counts = before.guidelines.values() if before else ()
    campaign = campaigns.get(visit.db, each.stages[stage].newest)
    won = winners.get(visit.db, each.in_force) if each.in_force else []
    return PlaceNow(
        coverage=each,
        stage=stage,
        violated=len(violated),
        more=headline.more(
            [cell.verdict for cell in verdict],
            use(campaign),
        ),
        undecided=sum(cell.verdict.verdict == "undecided" for cell in verdict),
        before=sum(count.violations for count in counts),
        worst=violated[:_WORST],
        since=each.stages[stage].compared,
        changes=changes[:_CHANGES],
        unseen=max(0, len(changes) - _CHANGES),
        simulated=is_simulated(campaign),
        speedup=statistics.median(winner.speedup for winner in won) if won else None,
        winners=len(won),
        age=_age(each.stages[stage].newest_measured, now),
        multiples=plot.of_run(visit, campaign) if curves else [],
        steps=of_place(visit.db, each, now),
    )


def _changes(visit: Visit, each: Coverage, stage: str) -> list[Change]:
    """Return those of the newest table; what is violated now comes first."""
    covered_stage = each.stages[stage]
    if covered_stage.compared is None:
        return []
    then = {
        verdicts.about(verdict): verdict.verdict
        for verdict in verdicts.get(visit.db, covered_stage.compared, stage)
    }
    changed = []
    for now in verdicts.get(visit.db, covered_stage.newest, stage):
        before = then.get(verdicts.about(now), "")
        if {before, now.verdict} == {"holds", "violated"}:
            changed.append(Change(covered_stage.newest, stage, now, before))
    return sorted(changed, key=lambda change: (change.then, -(change.now.ratio or 0.0)))
