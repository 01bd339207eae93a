"""The steps, taken: each of one campaign, and what is said of it. What a search has found is put in
force, confirmed, and taken out again where the confirmation fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from plumbline.applied import apply, standing
from plumbline.applied.generations import Source
from plumbline.applied.targets import AppliedOutcome, Place
from plumbline.campaign import applied_proof
from plumbline.daemon import canary, looking, notify, retuning, windows
from plumbline.daemon.cells import CanaryCell, cell_of
from plumbline.daemon.configuration import Applying
from plumbline.daemon.notify import Told
from plumbline.daemon.retuning import of_alarm
from plumbline.daemon.step import DaemonStep, Work
from plumbline.daemon.watched import Here, applied, place_of
from plumbline.daemon.windows import iso
from plumbline.libraries import gate
from plumbline.settings import Settings, identity
from plumbline.settings.identity import now as time_now
from plumbline.settings.toolchain import Toolchain
from plumbline.system import ending
from plumbline.system.words import counted
from plumbline.verify.decision import by_interval
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import campaigns, machines, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, TryLaterError, is_of_machine, typed
from plumbline_db.records import Campaign, Machine
from plumbline_db.watching import AlarmState, Retuning, RetuningState, WatchDay
from plumbline_exporters.bundle import load_bundle


class Advance(msgspec.Struct, frozen=True):
    """The advance that was made: a step of a campaign, or none. `because`: why nothing is measured
    now; `due`: when the next canary is. `error`: of the step; `said` is for a log, `told` for
    people."""

    step: DaemonStep
    campaign: str = ""
    because: str = ""
    due: datetime | None = None
    error: str = ""
    said: list[str] = []
    told: list[Told] = []


def take(work: Work, step: DaemonStep, due: windows.Due) -> Advance:
    """Any but the whole campaign and waiting. Raises PlumblineError where launches fail."""
    if step is DaemonStep.CANARY:
        return _canary(work, due)
    if step is DaemonStep.RECHECK:
        return _news(work, step, notify.of_alarms(work.campaign.id, retuning.take(work)))
    if step is DaemonStep.SEARCH:
        return _search(work)
    if step is DaemonStep.CONFIRM:
        return _confirm(work)
    raise ValueError(f"{step} is no step of watching")


def _news(work: Work, step: DaemonStep, news: Told | None) -> Advance:
    if news is None:
        return Advance(step, work.campaign.id)
    return Advance(step, work.campaign.id, said=[news.what], told=[news])


def _canary(work: Work, due: windows.Due) -> Advance:
    at = due.at or work.clock()
    lines = []
    if due.missed:
        missed = "1 canary was" if due.missed == 1 else f"{due.missed} canaries were"
        lines.append(f"{work.campaign.id}: {missed} missed before {iso(at)}")
    try:
        taken = canary.take(work, at)
    finally:
        _next_is_due(work, at, due.missed)
    about = f"{taken.cells} cells, {counted(taken.alarms, 'alarm')}"
    detail = f" ({taken.detail})" if taken.detail else ""
    lines.append(f"{work.campaign.id}: canary {taken.round} {taken.outcome}: {about}{detail}")
    anew = "learnt anew" in taken.detail
    news = [notify.of_error(work.campaign.id, "watching", taken.detail)] if anew else []
    return Advance(DaemonStep.CANARY, work.campaign.id, said=lines, told=news)


def _next_is_due(work: Work, at: datetime, missed: int) -> None:
    """Unless the one that was begun is to go on. What was missed before it is counted with that,
    once, though this process may have been killed in between."""
    row = watching.campaign(work.db, work.campaign.id)
    if row is None or watching.under_way(work.db, work.campaign.id) is not None:
        return
    configuration = work.configuration
    following = windows.after(
        at, configuration.canary.interval, configuration.schedule.times, work.clock()
    )
    with work.db.transaction():
        if missed + following.missed:
            day = WatchDay(work.now()[:10], missed=missed + following.missed)
            watching.add(work.db, day)
        watching.put_campaign(work.db, msgspec.structs.replace(row, due=iso(following.at)))


def _search(work: Work) -> Advance:
    search_under_way = retuning.under_way(work)
    number, row = search_under_way if search_under_way is not None else retuning.open_search(work)
    try:
        if row.settings:
            row, search_result = retuning.finish(work, number, row)
            row = _found(work, number, row, search_result)
        else:
            row = _written_again(work, number, row)
    except TryLaterError:
        raise
    except PlumblineError as error:
        if work.tries_again and not isinstance(error, retuning.HopelessError):
            raise
        failure = f"the search failed: {error}"
        row = ended(work, number, row, "failed", str(error), said=failure)
    return _told_of(work, DaemonStep.SEARCH, number, row)


def _told_of(work: Work, step: DaemonStep, number: int, row: Retuning) -> Advance:
    show = typed("results", "--campaign", row.search or work.campaign.id)
    if row.state == "offered":
        show = row.detail.partition(" (")[0]
    opened_by = [alarm for _, alarm in watching.of_retuning(work.db, number)]
    return _news(work, step, notify.of_retuning(row, opened_by, show))


def _found(work: Work, number: int, row: Retuning, result: retuning.Found) -> Retuning:
    applied_source = work.in_force.source(work.campaign)
    begun = applied_source is not None and applied_source.campaign.id == row.search
    if not result.better and not begun:  # what was begun to be applied is no better than itself
        text = "nothing better was found"
        return ended(work, number, row, "nothing better", row.detail, said=text)
    search = campaigns.get(work.db, row.search)
    show = command(work, search.id)
    if not result.winners:
        return _offered(work, number, row, f"{_take_out_by(work)} (nothing else is better)")
    if not work.configuration.apply.auto:
        return _offered(work, number, row, show)
    try:
        outcome = put_in_force(work, search)
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
        show = _export_again(work)
        if source is not None:
            show = command(work, source.campaign.id)
        return _offered(work, number, row, show)
    return _applied(work, number, row, _write_again(work).generation)


def _applied(work: Work, number: int, row: Retuning, generation: int) -> Retuning:
    applied = msgspec.structs.replace(row, state="applied", generation=generation)
    watching.renew_retuning(work.db, number, applied)
    looking.changed_by_us(work)
    return applied


def _offered(work: Work, number: int, row: Retuning, show: str) -> Retuning:
    return ended(work, number, row, "offered", show, said=f"to be done: {show}")


def _confirm(work: Work) -> Advance:
    search_under_way = retuning.under_way(work)
    if search_under_way is None:
        raise ValueError("nothing was applied")
    number, row = search_under_way
    row = confirm(work, number, row)
    looking.changed_by_us(work)
    return _told_of(work, DaemonStep.CONFIRM, number, row)


def begun(db: Database, here: Here, settings: Settings) -> Campaign:
    """The whole campaign, anew; one that is under way goes on."""
    campaign = identity.begin(db, here.toolchain, settings, new=False)
    if campaign.state == "finished":
        campaign = identity.begin(db, here.toolchain, settings, new=True)
    return campaign


def whole(work: Work) -> Advance:
    """`work` is of the campaign that was begun."""
    done = retuning.run_campaign(work, work.campaign, work.settings)
    return Advance(DaemonStep.CAMPAIGN, done.id, said=[f"{done.id}: its table is measured"])


def command(work: Work, search: str) -> str:
    """Return what somebody types who wants to do it himself."""
    return typed("apply", *_for_whom(work), "--campaign", search)


def _take_out_by(work: Work) -> str:
    return typed("apply", "--undo", *_for_whom(work))


def _for_whom(work: Work) -> list[str]:
    applying = work.configuration.apply
    if applying.scope == "modules":
        return ["--modules", applying.modules]
    return ["--site" if applying.scope == "site" else "--user"]


def put_in_force(work: Work, search: Campaign) -> AppliedOutcome:
    """One more generation. Raises PlumblineError, with the reason, before anything is changed."""
    loaded = load_bundle(work.db, search.id, Path(), gate.of_library, created="")
    # If a generation of ours was active, the site's rules are the rules below that generation,
    # even if its files were edited since.
    before = work.in_force.source(work.campaign)
    rules = loaded.site_rules if before is None else before.site_rules
    return _apply(work, Source(search, loaded.winners, rules, loaded.started), loaded.machine)


def _write_again(work: Work) -> AppliedOutcome:
    """Write again what is in force by the record, whatever somebody has made of its files since:
    one more generation. Raises PlumblineError where there is none."""
    source = work.in_force.source(work.campaign)
    if source is None:
        raise PlumblineError(
            f"{', '.join(work.in_force.changed)} in {work.in_force.folder}: exported files are "
            f"written again by `{_export_again(work)}`"
        )
    return _apply(work, source, machines.machine(work.db, work.campaign.machine))


def _export_again(work: Work) -> str:
    id, folder = work.campaign.id, work.in_force.folder
    return typed("export", "env", "json", "--campaign", id, "--output", folder, "--force")


def _apply(work: Work, source: Source, machine: Machine) -> AppliedOutcome:
    place = _place(work)
    toolchain = work.here.toolchain
    wish = apply.Wish(
        source=source,
        machine=machine,
        family=toolchain.family,
        installation=toolchain.installation,
        environment=dict(os.environ),
    )
    with ending.held():
        return apply.apply(place, wish, now=time_now())


def _place(work: Work) -> Place:
    place = place_of(work.configuration.apply, work.here.toolchain)
    if place is None:
        raise PlumblineError("apply.scope is not set: choose user, site or modules")
    return place


def _take_out(work: Work) -> AppliedOutcome:
    """The generation before it is in force again."""
    place = _place(work)
    with ending.held():
        return standing.rollback(place.scope, place.root, place.name)


def confirm(work: Work, number: int, row: Retuning) -> Retuning:
    """Measure what was applied as users have it. It is kept if the library uses it, if no watched
    cell is slower than was learnt, and if no cell that was searched is slower than when the alarm
    was raised; otherwise it is rolled back. Files that were only written again must bring back
    what was learnt. Raises PlumblineError where launches fail."""
    db, id = work.db, work.campaign.id
    stored = {cell_of(cell): cell for cell in watching.cells(db, id)}
    before = {of_alarm(alarm): alarm.ratio for _, alarm in watching.of_retuning(db, number)}
    cells = [cell for cell, watched in stored.items() if watched.role != "reference"]
    about = f"generation {row.generation}"
    unused = ignored(work.configuration.apply, work.here.toolchain, work.db.path)
    decisions = {} if unused else retuning.measure(work, cells, about).decisions
    comparisons = {cell: decision.told for cell, decision in decisions.items()}
    harm = _harmed(comparisons, before if row.search else {})
    if unused:
        harm = [f"NOT ACTIVE: {text}" for text in unused]
    elif not comparisons:
        harm = ["nothing could be measured while it was active"]
    if harm and row.search is None:
        return _to_be_searched(work, number, row, "; ".join(harm))
    if harm:
        outcome = _take_out(work)
        now_there = f"generation {outcome.generation}" if outcome.generation else "nothing"
        detail = f"{'; '.join(harm)}: rolled back, applied is now {now_there}"
        return ended(work, number, row, "rolled back", detail)
    gained = [
        f"{cell.named}: {retuning.interval(comparisons[cell])}"
        for cell in before
        if cell in comparisons
    ]
    detail = "; ".join(gained) + " of what was learnt"
    return ended(work, number, row, "kept", detail)


def ignored(applying: Applying, toolchain: Toolchain, database: Path) -> list[str]:
    """Return why the library does not use what is applied; empty where it does, and where that
    cannot be checked."""
    in_force_now = applied(applying, toolchain)
    if in_force_now is None:
        return []
    store, generation = in_force_now
    prefix = Path(toolchain.installation.library.prefix)
    return applied_proof.check(
        generation, store.path(generation.number), prefix, database
    ).not_active


def _to_be_searched(work: Work, number: int, row: Retuning, harm: str) -> Retuning:
    """Files are as they were written again, and were not the reason: alarms open a search."""
    ended = msgspec.structs.replace(
        row, state="failed", ended=work.now(), detail=f"files are written again, and still {harm}"
    )
    with work.db.transaction():
        watching.renew_retuning(work.db, number, ended)
        for at, alarm in watching.of_retuning(work.db, number):
            again = msgspec.structs.replace(alarm, state="confirmed", retuning=None)
            watching.renew_alarms(work.db, at, again)
    return ended


def _harmed(
    comparisons: dict[CanaryCell, Comparison], before: dict[CanaryCell, float]
) -> list[str]:
    """Say in words who was harmed; `before`: ratios of the cells that were searched, when their
    alarms were confirmed."""
    return [
        f"{cell.named} takes {retuning.interval(comparison)} of what was learnt"
        + (f", and {before[cell]:.2f} times before" if cell in before else "")
        for cell, comparison in comparisons.items()
        if by_interval(comparison, retuning.LEAST_CHANGE, before.get(cell, 1.0)) == "slower"
    ]


def ended(
    work: Work, number: int, row: Retuning, state: RetuningState, detail: str, said: str = ""
) -> Retuning:
    """End a retuning and the alarms that opened it, of which the same is `said`, or something else;
    their cells are learnt anew."""
    alarm_state: AlarmState = "removed" if state == "kept" else "stays"
    row = msgspec.structs.replace(row, state=state, ended=work.now(), detail=detail)
    db, id = work.db, work.campaign.id
    watched_cells = {cell_of(cell): cell for cell in watching.cells(db, id)}
    opened_by = watching.of_retuning(db, number)
    with db.transaction():
        watching.renew_retuning(db, number, row)
        for at, alarm in opened_by:
            alarm_detail = f"{alarm.detail}; {said or detail}"
            done = msgspec.structs.replace(
                alarm, state=alarm_state, ended=row.ended, detail=alarm_detail
            )
            watching.renew_alarms(db, at, done)
        searched = [of_alarm(alarm) for _, alarm in opened_by]
        retuning.forget(work, watched_cells, _anew(row, searched, list(watched_cells)))
    return row


def _anew(
    row: Retuning, searched: Sequence[CanaryCell], every: Sequence[CanaryCell]
) -> list[CanaryCell]:
    """After a change of what is in force all cells of its functions are others than were
    learnt."""
    if row.state != "kept":
        return list(searched)
    functions = {cell.function for cell in searched}
    return [cell for cell in every if cell.function in functions and cell.variant == "default"]
