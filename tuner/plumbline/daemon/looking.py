"""A look at what is installed and in force, compared with what was there before, and kept."""

from __future__ import annotations

import msgspec

from plumbline.daemon import canary, fingerprint, in_force
from plumbline.daemon.fingerprint import FILES, FingerprintChange
from plumbline.daemon.work import Work
from plumbline.settings import site_rules
from plumbline_db import alarms, machines, watching
from plumbline_db.watch_records import WatchedCampaign


def facts(work: Work) -> dict[str, str]:
    tools = work.here.toolchain
    return fingerprint.facts(
        tools.machine,
        tools.installation.library,
        tools.knobs,
        site_rules.find(tools, work.settings),
        work.in_force,
    )


def look(work: Work) -> list[FingerprintChange]:
    """Return what has changed since the last look, or for the table since it was measured; told
    once. A change that is not of the table makes a canary due, and ends learning: times before it
    and after it are not learnt together. Another generation is learnt anew."""
    if _is_ours(work):
        changed_by_us(work)
    now, row = facts(work), watching.campaign(work.db, work.campaign.id)
    if row is None:
        row = canary.begin_watching(work, now | _of_the_table(work))
    changed = fingerprint.changes(row.fingerprint, now)
    stale = "; ".join(change.text for change in changed if change.makes_stale)
    kept = now | {name: row.fingerprint.get(name, now[name]) for name in fingerprint.OF_THE_TABLE}
    new = msgspec.structs.replace(
        row,
        fingerprint=kept,
        generation=work.in_force.generation,
        stale=stale,
        stale_since=(row.stale_since or work.now()) if stale else "",
    )
    other_generation = new.generation != row.generation
    news = [change for change in changed if not change.makes_stale or stale != row.stale]
    if news and not stale:
        new = msgspec.structs.replace(new, due=work.now())
        canary.end_learning(work)
    if other_generation:
        with work.db.transaction():
            every = watching.cells(work.db, work.campaign.id)
            dropped_cells = [cell for cell in every if cell.role != "reference"]
            watching.forget_cells(work.db, work.campaign.id, dropped_cells)
    if new != row:
        watching.put_campaign(work.db, new)
    return news


def _is_ours(work: Work) -> bool:
    """Return whether what is in force is what this daemon was applying when something came
    between."""
    source = work.in_force.source(work.campaign)
    generation = work.in_force.generation
    return source is not None and any(
        source.campaign.id == retuning.search
        or (retuning.state, retuning.generation) == ("applied", generation)
        for _, retuning in alarms.retunings(work.db, work.campaign.id)
        if not retuning.ended
    )


def changed_by_us(work: Work) -> None:
    """Note that what is in force is ours: it is kept, and nobody needs to be told."""
    row = watching.campaign(work.db, work.campaign.id)
    if row is None:
        return
    in_force_now = in_force.find(work.db, work.campaign, work.here, work.configuration.apply)
    work_now = msgspec.structs.replace(work, in_force=in_force_now)
    new = facts(work_now)
    kept = row.fingerprint | {name: new[name] for name in (FILES, fingerprint.SITE)}
    watching.put_campaign(
        work.db,
        msgspec.structs.replace(row, fingerprint=kept, generation=in_force_now.generation),
    )


def stale(row: WatchedCampaign | None) -> str:
    return row.stale if row else ""


def _of_the_table(work: Work) -> dict[str, str]:
    """Return what the table rests on, as the campaign has it, and not as it is now."""
    machine = machines.machine(work.db, work.campaign.machine)
    library = machines.library(work.db, work.campaign.library_fingerprint)
    then = fingerprint.facts(machine, library, {}, None, work.in_force)
    return {name: then[name] for name in fingerprint.OF_THE_TABLE}
