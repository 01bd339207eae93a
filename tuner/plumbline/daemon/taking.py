"""The steps, taken: each of one campaign, and what is said of it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from plumbline.daemon import applying, canary, looking, recheck, schedule, searching, told
from plumbline.daemon.step import Step
from plumbline.daemon.told import Told
from plumbline.daemon.watched import Here
from plumbline.daemon.work import Work, iso
from plumbline.settings import Settings, identity
from plumbline_db import alarms, campaigns, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.records import Campaign, Retuning, WatchDay


class Advance(msgspec.Struct, frozen=True):
    """What was done: a step of a campaign, or none. `because`: why nothing is measured now; `due`:
    when the next canary is. `error`: of the step; `said` is for a log, `told` for people."""

    step: Step
    campaign: str = ""
    because: str = ""
    due: datetime | None = None
    error: str = ""
    said: list[str] = []
    told: list[Told] = []


def take(work: Work, step: Step, due: schedule.Due) -> Advance:
    """Any but the whole campaign and waiting. Raises PlumblineError where launches fail."""
    if step is Step.CANARY:
        return _canary(work, due)
    if step is Step.RECHECK:
        return _news(work, step, told.of_alarms(work.campaign.id, recheck.take(work)))
    if step is Step.SEARCH:
        return _search(work)
    if step is Step.CONFIRM:
        return _confirm(work)
    raise ValueError(f"{step} is no step of watching")


def _news(work: Work, step: Step, news: Told | None) -> Advance:
    if news is None:
        return Advance(step, work.campaign.id)
    return Advance(step, work.campaign.id, said=[news.what], told=[news])


def _canary(work: Work, due: schedule.Due) -> Advance:
    at = due.at or work.clock()
    said = []
    if due.missed:
        watching.add(work.db, WatchDay(work.now()[:10], missed=due.missed))
        said.append(f"{work.campaign.id}: {due.missed} canaries were missed before {iso(at)}")
    try:
        taken = canary.take(work, at)
    finally:
        _next_is_due(work, at)
    about = f"{taken.cells} cells, {taken.alarms} alarms"
    detail = f" ({taken.detail})" if taken.detail else ""
    said.append(f"{work.campaign.id}: canary {taken.round} {taken.outcome}: {about}{detail}")
    anew = "learnt anew" in taken.detail
    news = [told.of_error(work.campaign.id, "watching", taken.detail)] if anew else []
    return Advance(Step.CANARY, work.campaign.id, said=said, told=news)


def _next_is_due(work: Work, at: datetime) -> None:
    """Unless the one that was begun is to go on."""
    row = watching.campaign(work.db, work.campaign.id)
    if row is None or watching.under_way(work.db, work.campaign.id) is not None:
        return
    configuration = work.configuration
    following = schedule.after(
        at, configuration.canary.interval, configuration.schedule.times, work.clock()
    )
    watching.put_campaign(work.db, msgspec.structs.replace(row, due=iso(following)))


def _search(work: Work) -> Advance:
    there = searching.under_way(work)
    number, row = there if there is not None else searching.open_search(work)
    try:
        row, winners = searching.finish(work, number, row)
        row = _found(work, number, row, better=bool(winners))
    except TryLaterError:
        raise
    except PlumblineError as error:
        row = msgspec.structs.replace(row, state="failed", ended=work.now(), detail=str(error))
        applying.end(work, number, row, "stays", "the search failed")
    show = f"plumbline results --campaign {row.search or work.campaign.id}"
    if row.state == "offered":
        show = applying.command(work, row.search or "")
    opened_by = [one for _, one in alarms.of_retuning(work.db, number)]
    return _news(work, Step.SEARCH, told.of_retuning(row, opened_by, show))


def _found(work: Work, number: int, row: Retuning, *, better: bool) -> Retuning:
    if not better:
        ended = msgspec.structs.replace(row, state="nothing better", ended=work.now())
        applying.end(work, number, ended, "stays", "nothing better was found")
        return ended
    search = campaigns.get(work.db, row.search)
    if not work.configuration.apply.auto:
        return _offered(work, number, row, applying.command(work, search.id))
    try:
        outcome = applying.put_in_force(work, search)
    except TryLaterError:
        raise
    except PlumblineError as error:
        show = applying.command(work, search.id)
        return _offered(work, number, row, f"{show} (not applied by itself: {error})")
    applied = msgspec.structs.replace(row, state="applied", generation=outcome.generation)
    with work.db.transaction():
        alarms.renew_retuning(work.db, number, applied)
    looking.changed_by_us(work)
    return applied


def _offered(work: Work, number: int, row: Retuning, show: str) -> Retuning:
    ended = msgspec.structs.replace(row, state="offered", ended=work.now(), detail=show)
    applying.end(work, number, ended, "stays", f"something better was found: {show}")
    return ended


def _confirm(work: Work) -> Advance:
    there = searching.under_way(work)
    if there is None:
        raise ValueError("nothing was applied")
    number, row = there
    row = applying.confirm(work, number, row)
    looking.changed_by_us(work)
    opened_by = [one for _, one in alarms.of_retuning(work.db, number)]
    show = f"plumbline results --campaign {row.search}"
    return _news(work, Step.CONFIRM, told.of_retuning(row, opened_by, show))


def begun(db: Database, here: Here, settings: Settings) -> Campaign:
    """The whole campaign, anew; one that is under way goes on."""
    found = identity.begin(db, here.toolchain, settings, new=False)
    if found.state == "finished":
        found = identity.begin(db, here.toolchain, settings, new=True)
    return found


def whole(work: Work) -> Advance:
    """`work` is of the campaign that was begun."""
    done = searching.run_campaign(work, work.campaign, work.settings)
    return Advance(Step.CAMPAIGN, done.id, said=[f"{done.id}: its table is measured"])
