"""Steps that somebody who looks at the overview should do next, each with a command."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import msgspec

from plumbline.results import putting_in_use
from plumbline.system.words import counted
from plumbline_db import campaigns, watching, winners
from plumbline_db.connection import Database
from plumbline_db.coverage import Coverage
from plumbline_db.errors import typed
from plumbline_db.records import Campaign

OLD_DAYS = 90  # a table that is older is worth to be measured again
_UNDECIDED = 0.1  # share of a table's cells


class NextStep(msgspec.Struct, frozen=True):
    """`command` is empty where `text` says why there is none. `run`: id of the run that it is
    about; empty: none."""

    text: str
    command: str
    run: str = ""


def of(db: Database, every_campaign: Sequence[Campaign]) -> list[NextStep]:
    """Return what concerns no single place, the most urgent step first."""
    if not every_campaign:
        return [NextStep("The database contains no campaign yet.", typed("campaign"))]
    return [*_watched(db), *_unfinished(db, every_campaign)]


def _watched(db: Database) -> list[NextStep]:
    waiting = [alarm for _, alarm in watching.every(db) if alarm.is_open]
    if not waiting:
        return []
    text = f"{counted(len(waiting), 'watched cell')} may have changed."
    return [NextStep(text, typed("watch", "--status"), waiting[-1].campaign)]


def _unfinished(db: Database, every_campaign: Sequence[Campaign]) -> list[NextStep]:
    """The campaign that runs, and the newest of those that were interrupted."""
    states = {
        campaign.id: campaigns.state(db, campaign)
        for campaign in every_campaign
        if not campaign.imported_from
    }
    running = [id for id, state in states.items() if state == "running"]
    steps = [
        NextStep(f"{id} is running. What it has found so far:", typed("results", "--campaign", id))
        for id in running
    ]
    interrupted = [id for id, state in states.items() if state == "interrupted"]
    if interrupted:
        id = interrupted[-1]
        others = f" So were {len(interrupted) - 1} more." if interrupted[1:] else ""
        text = f"{id} was interrupted.{others} To continue it:"
        steps.append(NextStep(text, typed("campaign", "--continue", id), id))
    return steps


def of_place(db: Database, each: Coverage, now: datetime.datetime) -> list[NextStep]:
    place, before = each.place, each.stages.get("before")
    counts = before.guidelines.values() if before else ()
    violated = sum(count.violations for count in counts)
    steps = []
    if each.in_force and (won := winners.get(db, each.in_force)):
        use = putting_in_use.use(db, campaigns.get(db, each.in_force), won)
        text = use.refused or "Winners exist. To use them:"
        steps.append(NextStep(text, use.command, each.in_force))
    elif before and "after" not in each.stages and violated:
        text = "Nothing was searched yet. To search what removes the violations:"
        steps.append(NextStep(text, typed("campaign", "--nprocs", place.nprocs), before.newest))
    if before is None:
        return steps
    undecided = sum(count.undecided for count in counts)
    if undecided > _UNDECIDED * before.cells:
        text = f"{undecided} of {before.cells} cells are undecided. More launches decide:"
        command = typed("verify", "--nprocs", place.nprocs, "--launches-max", 60)
        steps.append(NextStep(text, command, before.newest))
    if days(before.newest_measured, now) > OLD_DAYS:
        text = f"The newest table is older than {OLD_DAYS} days. To measure it again:"
        steps.append(
            NextStep(text, typed("campaign", "--nprocs", place.nprocs, "--new"), before.newest)
        )
    return steps


def days(text: str, now: datetime.datetime) -> float:
    """Since a moment; 0 where it is no time."""
    try:
        then = datetime.datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    if then.tzinfo is None:
        then = then.replace(tzinfo=datetime.UTC)
    return (now - then).total_seconds() / 86400
