"""What a search has found, put in force; confirmed, and taken out again where it does not hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.applied import apply, rollback
from plumbline.applied.generations import Source
from plumbline.applied.outcome import AppliedOutcome
from plumbline.daemon import in_force, recheck
from plumbline.daemon.cells import Cell, cell_of
from plumbline.daemon.recheck import of_alarm
from plumbline.daemon.work import Work
from plumbline.settings.identity import now as time_now
from plumbline.system import ending
from plumbline.verify.statistics import Comparison
from plumbline_db import alarms, watching
from plumbline_db.errors import PlumblineError
from plumbline_db.records import AlarmState, Campaign, Retuning
from plumbline_exporters.bundle import load_bundle


def command(work: Work, search: str) -> str:
    """What somebody types who wants to do it himself."""
    applying = work.configuration.apply
    where = {"modules": f"--modules {applying.modules}", "site": "--site"}.get(
        applying.scope, "--user"
    )
    return f"plumbline apply {where} --campaign {search}"


def put_in_force(work: Work, search: Campaign) -> AppliedOutcome:
    """One more generation. Raises PlumblineError, with the reason, before anything is changed."""
    place = in_force.place_of(work.configuration.apply, work.here.toolchain)
    if place is None:
        raise PlumblineError("apply.scope says for whom nothing: user, site or modules")
    toolchain = work.here.toolchain
    loaded = load_bundle(work.db, search.id, Path(), created="")
    wish = apply.Wish(
        source=Source(search, loaded.winners, _beneath(work, loaded.site_rules), loaded.started),
        machine=loaded.machine,
        family=toolchain.family,
        installation=toolchain.installation,
        environment=dict(os.environ),
    )
    with ending.held():
        return apply.apply(place, wish, now=time_now())


def _beneath(work: Work, site_rules: str) -> str:
    """The rules of the site beneath our own: where ours were in force, those of that generation,
    whatever somebody has made of its files since."""
    source = work.in_force.source(work.campaign)
    return site_rules if source is None else source.site_rules


def take_out(work: Work) -> AppliedOutcome:
    """The generation before it is in force again."""
    place = in_force.place_of(work.configuration.apply, work.here.toolchain)
    if place is None:
        raise PlumblineError("apply.scope says for whom nothing: user, site or modules")
    with ending.held():
        return rollback.rollback(place.scope, place.root, place.name)


def confirm(work: Work, number: int, row: Retuning) -> Retuning:
    """What was applied is measured as users have it: it is kept, if no watched cell is slower than
    was learnt, and none of those that were searched slower than when the alarm was raised; else it
    is rolled back. Raises PlumblineError where launches fail."""
    db, id = work.db, work.campaign.id
    stored = {cell_of(one): one for one in watching.cells(db, id)}
    before = {of_alarm(alarm): alarm.ratio for _, alarm in alarms.of_retuning(db, number)}
    cells = [cell for cell, one in stored.items() if one.role != "reference"]
    about = f"generation {row.generation}"
    found = recheck.measure(work, cells, about).comparisons
    harm = harmed(found, before)
    if not found:
        harm = ["nothing could be measured with it in force"]
    if harm:
        outcome = take_out(work)
        now_there = f"generation {outcome.generation}" if outcome.generation else "nothing"
        detail = f"{'; '.join(harm)}: rolled back, in force is {now_there}"
        return _ended(work, number, row, "rolled back", "stays", detail)
    gained = [f"{cell.named}: {recheck.interval(found[cell])}" for cell in before if cell in found]
    detail = "; ".join(gained) + " of what was learnt"
    return _ended(work, number, row, "kept", "removed", detail)


def harmed(found: dict[Cell, Comparison], before: dict[Cell, float]) -> list[str]:
    """In words; `before`: ratios of the cells that were searched, when their alarms were
    confirmed."""
    return [
        f"{cell.named} takes {recheck.interval(comparison)} of what was learnt"
        + (f", and {before[cell]:.2f} times before" if cell in before else "")
        for cell, comparison in found.items()
        if comparison.low is not None
        and comparison.low > before.get(cell, 1.0)
        and comparison.ratio >= before.get(cell, 1.0) * recheck.LEAST_CHANGE
    ]


def _ended(
    work: Work,
    number: int,
    row: Retuning,
    state: str,
    alarm_state: AlarmState,
    detail: str,
) -> Retuning:
    ended = msgspec.convert(
        msgspec.structs.asdict(row) | {"state": state, "ended": work.now(), "detail": detail},
        Retuning,
    )
    end(work, number, ended, alarm_state, detail)
    return ended


def end(work: Work, number: int, row: Retuning, alarm_state: AlarmState, detail: str) -> None:
    """With the alarms that opened it; their cells are learnt anew."""
    db, id = work.db, work.campaign.id
    known = {cell_of(one): one for one in watching.cells(db, id)}
    opened_by = alarms.of_retuning(db, number)
    with db.transaction():
        alarms.renew_retuning(db, number, row)
        for at, alarm in opened_by:
            ended = msgspec.structs.replace(
                alarm, state=alarm_state, ended=row.ended, detail=f"{alarm.detail}; {detail}"
            )
            alarms.renew(db, at, ended)
        recheck.forget(
            work, known, _anew(row, [of_alarm(one) for _, one in opened_by], list(known))
        )


def _anew(row: Retuning, searched: Sequence[Cell], every: Sequence[Cell]) -> list[Cell]:
    """After a change of what is in force all cells of its functions are others than were
    learnt."""
    if row.state != "kept":
        return list(searched)
    functions = {cell.function for cell in searched}
    return [cell for cell in every if cell.function in functions and cell.variant == "default"]
