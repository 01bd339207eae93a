"""What a search has found, put in force; confirmed, and taken out again where it does not hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.applied import apply, rollback
from plumbline.applied.generations import Source
from plumbline.applied.outcome import AppliedOutcome
from plumbline.applied.places import Place
from plumbline.campaign import applied_proof
from plumbline.daemon import in_force, recheck
from plumbline.daemon.cells import Cell, cell_of
from plumbline.daemon.configuration import Applying
from plumbline.daemon.recheck import of_alarm
from plumbline.daemon.work import Work
from plumbline.libraries import gate
from plumbline.settings.identity import now as time_now
from plumbline.settings.toolchain import Toolchain
from plumbline.system import ending
from plumbline.verify.decision import by_interval
from plumbline.verify.significance.comparison import Comparison
from plumbline_db import alarms, machines, watching
from plumbline_db.errors import PlumblineError, typed
from plumbline_db.records import Campaign, Machine
from plumbline_db.watch_records import AlarmState, Retuning, RetuningState
from plumbline_exporters.bundle import load_bundle


def command(work: Work, search: str) -> str:
    """What somebody types who wants to do it himself."""
    return typed("apply", *_for_whom(work), "--campaign", search)


def take_out_by(work: Work) -> str:
    return typed("rollback", *_for_whom(work))


def _for_whom(work: Work) -> list[str]:
    applying = work.configuration.apply
    if applying.scope == "modules":
        return ["--modules", applying.modules]
    return ["--site" if applying.scope == "site" else "--user"]


def put_in_force(work: Work, search: Campaign) -> AppliedOutcome:
    """One more generation. Raises PlumblineError, with the reason, before anything is changed."""
    loaded = load_bundle(work.db, search.id, Path(), gate.of_library, created="")
    # Where ours were in force, the rules of the site are those beneath that generation, whatever
    # somebody has made of its files since.
    before = work.in_force.source(work.campaign)
    rules = loaded.site_rules if before is None else before.site_rules
    return _apply(work, Source(search, loaded.winners, rules, loaded.started), loaded.machine)


def write_again(work: Work) -> AppliedOutcome:
    """What is in force by the record, whatever somebody has made of its files since: one more
    generation. Raises PlumblineError where there is none."""
    source = work.in_force.source(work.campaign)
    if source is None:
        raise PlumblineError(
            f"{', '.join(work.in_force.changed)} in {work.in_force.folder}: exported files are "
            f"written again by `{export_again(work)}`"
        )
    return _apply(work, source, machines.machine(work.db, work.campaign.machine))


def export_again(work: Work) -> str:
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
    place = in_force.place_of(work.configuration.apply, work.here.toolchain)
    if place is None:
        raise PlumblineError("apply.scope says for whom nothing: user, site or modules")
    return place


def take_out(work: Work) -> AppliedOutcome:
    """The generation before it is in force again."""
    place = _place(work)
    with ending.held():
        return rollback.rollback(place.scope, place.root, place.name)


def confirm(work: Work, number: int, row: Retuning) -> Retuning:
    """Measure what was applied as users have it. It is kept if the library uses it, if no watched
    cell is slower than was learnt, and if no cell that was searched is slower than when the alarm
    was raised; otherwise it is rolled back. Files that were only written again must bring back
    what was learnt. Raises PlumblineError where launches fail."""
    db, id = work.db, work.campaign.id
    stored = {cell_of(one): one for one in watching.cells(db, id)}
    before = {of_alarm(alarm): alarm.ratio for _, alarm in alarms.of_retuning(db, number)}
    cells = [cell for cell, one in stored.items() if one.role != "reference"]
    about = f"generation {row.generation}"
    unused = ignored(work.configuration.apply, work.here.toolchain, work.db.path)
    decisions = {} if unused else recheck.measure(work, cells, about).decisions
    found = {cell: decision.told for cell, decision in decisions.items()}
    harm = harmed(found, before if row.search else {})
    if unused:
        harm = [f"NOT ACTIVE: {text}" for text in unused]
    elif not found:
        harm = ["nothing could be measured with it in force"]
    if harm and row.search is None:
        return _to_be_searched(work, number, row, "; ".join(harm))
    if harm:
        outcome = take_out(work)
        now_there = f"generation {outcome.generation}" if outcome.generation else "nothing"
        detail = f"{'; '.join(harm)}: rolled back, applied is now {now_there}"
        return ended(work, number, row, "rolled back", detail)
    gained = [f"{cell.named}: {recheck.interval(found[cell])}" for cell in before if cell in found]
    detail = "; ".join(gained) + " of what was learnt"
    return ended(work, number, row, "kept", detail)


def ignored(applying: Applying, toolchain: Toolchain, database: Path) -> list[str]:
    """Return why the library does not use what is applied; empty where it does, and where that
    cannot be checked."""
    there = in_force.applied(applying, toolchain)
    if there is None:
        return []
    store, one = there
    prefix = Path(toolchain.installation.library.prefix)
    return applied_proof.check(one, store.path(one.number), prefix, database).not_active


def _to_be_searched(work: Work, number: int, row: Retuning, harm: str) -> Retuning:
    """Files are as they were written again, and were not the reason: alarms open a search."""
    ended = msgspec.structs.replace(
        row, state="failed", ended=work.now(), detail=f"files are written again, and still {harm}"
    )
    with work.db.transaction():
        alarms.renew_retuning(work.db, number, ended)
        for at, alarm in alarms.of_retuning(work.db, number):
            again = msgspec.structs.replace(alarm, state="confirmed", retuning=None)
            alarms.renew(work.db, at, again)
    return ended


def harmed(found: dict[Cell, Comparison], before: dict[Cell, float]) -> list[str]:
    """In words; `before`: ratios of the cells that were searched, when their alarms were
    confirmed."""
    return [
        f"{cell.named} takes {recheck.interval(comparison)} of what was learnt"
        + (f", and {before[cell]:.2f} times before" if cell in before else "")
        for cell, comparison in found.items()
        if by_interval(comparison, recheck.LEAST_CHANGE, before.get(cell, 1.0)) == "slower"
    ]


def ended(
    work: Work,
    number: int,
    row: Retuning,
    state: RetuningState,
    detail: str,
    said: str = "",
) -> Retuning:
    """End a retuning and the alarms that opened it, of which the same is `said`, or something else;
    their cells are learnt anew."""
    alarm_state: AlarmState = "removed" if state == "kept" else "stays"
    row = msgspec.structs.replace(row, state=state, ended=work.now(), detail=detail)
    db, id = work.db, work.campaign.id
    known = {cell_of(one): one for one in watching.cells(db, id)}
    opened_by = alarms.of_retuning(db, number)
    with db.transaction():
        alarms.renew_retuning(db, number, row)
        for at, alarm in opened_by:
            told = f"{alarm.detail}; {said or detail}"
            done = msgspec.structs.replace(alarm, state=alarm_state, ended=row.ended, detail=told)
            alarms.renew(db, at, done)
        searched = [of_alarm(one) for _, one in opened_by]
        recheck.forget(work, known, _anew(row, searched, list(known)))
    return row


def _anew(row: Retuning, searched: Sequence[Cell], every: Sequence[Cell]) -> list[Cell]:
    """After a change of what is in force all cells of its functions are others than were
    learnt."""
    if row.state != "kept":
        return list(searched)
    functions = {cell.function for cell in searched}
    return [cell for cell in every if cell.function in functions and cell.variant == "default"]
