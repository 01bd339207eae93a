"""The steps, taken: each of one campaign, and what is said of it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from plumbline.daemon import applying, canary, looking, recheck, schedule, searching, told
from plumbline.daemon.moments import iso
from plumbline.daemon.step import Step
from plumbline.daemon.told import Told
from plumbline.daemon.watched import Here
from plumbline.daemon.work import Work
from plumbline.settings import Settings, identity
from plumbline.system.words import counted
from plumbline_db import alarms, campaigns, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, TryLaterError, is_of_machine, typed
from plumbline_db.records import Campaign
from plumbline_db.watch_records import Retuning, WatchDay


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
        missed = "1 canary was" if due.missed == 1 else f"{due.missed} canaries were"
        said.append(f"{work.campaign.id}: {missed} missed before {iso(at)}")
    try:
        taken = canary.take(work, at)
    finally:
        _next_is_due(work, at, due.missed)
    about = f"{taken.cells} cells, {counted(taken.alarms, 'alarm')}"
    detail = f" ({taken.detail})" if taken.detail else ""
    said.append(f"{work.campaign.id}: canary {taken.round} {taken.outcome}: {about}{detail}")
    anew = "learnt anew" in taken.detail
    news = [told.of_error(work.campaign.id, "watching", taken.detail)] if anew else []
    return Advance(Step.CANARY, work.campaign.id, said=said, told=news)


def _next_is_due(work: Work, at: datetime, missed: int) -> None:
    """Unless the one that was begun is to go on. What was missed before it is counted with that,
    once, though this process may have been killed in between."""
    row = watching.campaign(work.db, work.campaign.id)
    if row is None or watching.under_way(work.db, work.campaign.id) is not None:
        return
    configuration = work.configuration
    following = schedule.after(
        at, configuration.canary.interval, configuration.schedule.times, work.clock()
    )
    with work.db.transaction():
        if missed + following.missed:
            day = WatchDay(work.now()[:10], missed=missed + following.missed)
            watching.add(work.db, day)
        watching.put_campaign(work.db, msgspec.structs.replace(row, due=iso(following.at)))


def _search(work: Work) -> Advance:
    there = searching.under_way(work)
    number, row = there if there is not None else searching.open_search(work)
    try:
        if row.settings:
            row, found = searching.finish(work, number, row)
            row = _found(work, number, row, found)
        else:
            row = _written_again(work, number, row)
    except TryLaterError:
        raise
    except PlumblineError as error:
        if work.tries_again and not isinstance(error, searching.HopelessError):
            raise
        said = f"the search failed: {error}"
        row = applying.ended(work, number, row, "failed", str(error), said=said)
    return _told_of(work, Step.SEARCH, number, row)


def _told_of(work: Work, step: Step, number: int, row: Retuning) -> Advance:
    show = typed("results", "--campaign", row.search or work.campaign.id)
    if row.state == "offered":
        show = row.detail.partition(" (")[0]
    opened_by = [one for _, one in alarms.of_retuning(work.db, number)]
    return _news(work, step, told.of_retuning(row, opened_by, show))


def _found(work: Work, number: int, row: Retuning, found: searching.Found) -> Retuning:
    there = work.in_force.source(work.campaign)
    begun = there is not None and there.campaign.id == row.search
    if not found.better and not begun:  # what was begun to be applied is no better than itself
        said = "nothing better was found"
        return applying.ended(work, number, row, "nothing better", row.detail, said=said)
    search = campaigns.get(work.db, row.search)
    show = applying.command(work, search.id)
    if not found.winners:
        return _offered(work, number, row, f"{applying.take_out_by(work)} (nothing else is better)")
    if not work.configuration.apply.auto:
        return _offered(work, number, row, show)
    try:
        outcome = applying.put_in_force(work, search)
    except TryLaterError:
        raise
    except PlumblineError as error:
        if work.tries_again and is_of_machine(error):
            raise
        return _offered(work, number, row, f"{show} (not applied by itself: {error})")
    return _applied(work, number, row, outcome.generation)


def _written_again(work: Work, number: int, row: Retuning) -> Retuning:
    """Files of ours that somebody has changed, and that made cells slower."""
    if not work.configuration.apply.auto or not work.in_force.generation:
        source = work.in_force.source(work.campaign)
        show = applying.export_again(work)
        if source is not None:
            show = applying.command(work, source.campaign.id)
        return _offered(work, number, row, show)
    return _applied(work, number, row, applying.write_again(work).generation)


def _applied(work: Work, number: int, row: Retuning, generation: int) -> Retuning:
    applied = msgspec.structs.replace(row, state="applied", generation=generation)
    alarms.renew_retuning(work.db, number, applied)
    looking.changed_by_us(work)
    return applied


def _offered(work: Work, number: int, row: Retuning, show: str) -> Retuning:
    return applying.ended(work, number, row, "offered", show, said=f"to be done: {show}")


def _confirm(work: Work) -> Advance:
    there = searching.under_way(work)
    if there is None:
        raise ValueError("nothing was applied")
    number, row = there
    row = applying.confirm(work, number, row)
    looking.changed_by_us(work)
    return _told_of(work, Step.CONFIRM, number, row)


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
