"""The conditions of all launches of a campaign, as the database has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plumbline.measure.conditions import Conditions, Weakness, of_refusals, of_starts, summary
from plumbline.measure.settling import named, start_of
from plumbline.results import spread
from plumbline.search.outcome import label
from plumbline_db import runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.layout import is_simulated
from plumbline_db.records import Campaign, Case, Library, Verdict
from plumbline_db.runs import Surroundings


def of(
    db: Database,
    campaign: Campaign,
    library: Library,
    launches: Sequence[Surroundings],
    tables: Mapping[str, Sequence[Verdict]],
) -> Conditions:
    """`launches`: all of them; `tables`: verdicts by stage."""
    names = sorted(table_samples.suites([cell for table in tables.values() for cell in table]))
    settled = _settled(db, campaign.id, names, simulated=is_simulated(campaign))
    refused = [
        (_name(case), refusal.reason) for case, refusal in runs.refusals(db, campaign.id, names)
    ]
    return summary(
        launches,
        library.build,
        spread.dependence(db, campaign, tables),
        of_refusals(refused) + settled,
    )


def _settled(
    db: Database, campaign: str, tables: Sequence[str], *, simulated: bool
) -> list[Weakness]:
    """Return what is to be said of how cases settled. Of a simulated machine only the launches of
    `tables` count: cases of other launches do not say which options were in force."""
    firsts = table_samples.first_blocks(db, campaign, unsettled=not simulated)
    starts = [
        start_of(_name(case), samples, transit, launches)
        for case, suite, samples, transit, launches in firsts
        if suite in tables or not simulated
    ]
    return of_starts(starts, simulated=simulated)


def _name(case: Case) -> str:
    return named(case.function, label(case.variant, case.knobs), case.bytes, case.ranks)
