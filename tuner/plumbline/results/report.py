"""A campaign as one document (the fields of `plumbline results --json`), read from the database,
and its headline: how many cells are violated.

Times in seconds, sizes in bytes, ratios left over right. Documented in docs/results.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from plumbline.core import guidelines
from plumbline.core.guidelines import EVERY, LEFT_OUT
from plumbline.measure import other_work, repetitions
from plumbline.measure.conditions import Conditions, Weakness, of_refusals, of_starts, summary
from plumbline.measure.exclusions import (
    HINTS,
    MEMBERS_DIFFER,
    NO_TIME,
    NOT_ASKED,
    PUT_ASIDE,
    SLOW_MESSAGES,
)
from plumbline.measure.repetitions import RepetitionsCell
from plumbline.measure.settling import named, start_of
from plumbline.results import saving, spread
from plumbline.results.remaining import Behind, Remaining, Searched, behind, whole_functions
from plumbline.results.saving import Saving
from plumbline.search.outcome import label
from plumbline.system.words import counted
from plumbline.verify.grid import as_json
from plumbline_db import campaigns, cost, findings, machines, runs, started, table_samples
from plumbline_db.connection import Database
from plumbline_db.cost import Spent
from plumbline_db.layout import asked, is_simulated, layout, use, verifies_only
from plumbline_db.records import (
    EVERY_FUNCTION,
    UNBOUNDED_BYTES,
    Campaign,
    Case,
    Event,
    Export,
    Library,
    Machine,
    Search,
    Verdict,
    Winner,
    Wrong,
    by_number,
)
from plumbline_db.runs import Surroundings

# The headline of a campaign: how many cells are violated in every way of use that was measured, and
# how many only in some. Pure.

_WORDS = {
    "after_barrier": "after a barrier",
    "loop": "in a loop of calls",
    "stream": "in a stream of calls",
    "synchronised": "where all ranks start together",
}


class ViolationChange(NamedTuple):
    """Violated cells of two tables. `removed`: those of the first that hold in the last."""

    before: int
    removed: int
    new: int
    after: int


def everywhere(table: Iterable[Verdict]) -> list[Verdict]:
    """Return the cells that are violated in every way of use that has an answer."""
    return [verdict for verdict in table if verdict.violated_everywhere]


def somewhere(table: Iterable[Verdict]) -> list[Verdict]:
    """Return the cells that are violated in some ways of use, and hold in others."""
    return [verdict for verdict in table if verdict.depends]


def standing(table: Sequence[Verdict], use: str) -> str:
    """Return the sentence about one table of the way of use `use`:
    `13 violations; 9 more are violated only after a barrier`."""
    sentence = counted(len(everywhere(table)), "violation")
    return sentence + _undecided(table) + more(table, use)


def change(before: Sequence[Verdict], after: Sequence[Verdict], use: str) -> str:
    """Return the sentence about the first and the last table:
    `violations: 12 removed of 13; 9 more are violated only after a barrier`."""
    counts = changed(before, after)
    sentence = "no violations"
    if counts.before or counts.after:
        sentence = f"violations: {counts.removed} removed of {counts.before}"
    if counts.new:
        sentence += f", {counts.new} new"
    return sentence + _undecided(after) + more(after, use)


def changed(before: Sequence[Verdict], after: Sequence[Verdict]) -> ViolationChange:
    """Return how many cells are violated in the first and in the last table."""
    first = {_cell(verdict) for verdict in everywhere(before)}
    last = {_cell(verdict) for verdict in everywhere(after)}
    held = {
        _cell(verdict) for verdict in after if verdict.verdict == "holds" and not verdict.depends
    }
    return ViolationChange(len(first), len(first & held), len(last - first), len(last))


def _undecided(table: Iterable[Verdict]) -> str:
    count = sum(verdict.verdict == "undecided" for verdict in table)
    return f", {count} undecided" if count else ""


def more(table: Iterable[Verdict], use: str) -> str:
    """Return what is added for the cells that are violated in some ways of use only; or nothing."""
    cells = somewhere(table)
    if not cells:
        return ""
    ways = {way or use for verdict in cells for way in verdict.violated_in}
    where = _WORDS.get(next(iter(ways)), "") if len(ways) == 1 else ""
    verb = "is" if len(cells) == 1 else "are"
    return f"; {len(cells)} more {verb} violated only {where or 'in some ways of use'}"


def _cell(verdict: Verdict) -> tuple[str, str, str, int]:
    return verdict.guideline, verdict.kind, verdict.function, verdict.bytes


def _conditions_of_launches(
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


OF_FACTORS = "factor "  # begins the kind of an event; the verdict of a level follows


class StoredEffect(msgspec.Struct, frozen=True):
    """The finding of `plumbline reproducibility factors` about a level of a factor. `verdict`:
    matters, idle, undecided or no result."""

    function: str
    nprocs: int
    started: str
    verdict: str
    text: str


def effects_of_factors(db: Database, machine: str, library_fingerprint: str) -> list[StoredEffect]:
    """Return what the last experiment of each function and number of ranks has found on this
    machine and with this library."""
    last: dict[tuple[str, int], list[StoredEffect]] = {}
    for row in campaigns.of_factors(db):
        if (row.machine, row.library_fingerprint) != (machine, library_fingerprint):
            continue
        effects = [
            StoredEffect(
                function=event.function,
                nprocs=row.nprocs,
                started=row.started,
                verdict=event.kind.removeprefix(OF_FACTORS),
                text=event.text,
            )
            for event in campaigns.events(db, row.id)
            if event.kind.startswith(OF_FACTORS)
        ]
        if effects:
            last[effects[0].function, row.nprocs] = effects
    return [effect for effects in last.values() for effect in effects]


class Report(msgspec.Struct, frozen=True):
    """Everything that is shown of a campaign. `after` is None while it runs."""

    campaign: Campaign
    state: str  # running, interrupted, finished
    to_continue: str  # the sentence about what continues it; empty when it is finished
    machine: Machine
    library: Library
    before: list[Verdict]
    after: list[Verdict] | None
    winners: list[Winner]
    searches: list[Search]
    exports: list[Export]
    events: list[Event]
    cost: cost.Cost
    conditions: Conditions | None = None  # of all launches; None: they were not asked for
    cost_of_load: str = ""  # what other work has cost (other_work.py); empty: nothing
    spent: Spent | None = None  # where the seconds of its launches went; None: simulated
    saving: Saving | None = None
    wrong: list[Wrong] = []
    placed: list[str] = []  # how ranks were started (plumbline_db.started)
    hours: spread.Hours | None = None  # what the intervals of `winners` are widened by
    repetitions: list[RepetitionsCell] = []  # counted by a stopping rule, where one was named
    factors: list[StoredEffect] = []  # measured on this machine, with this library
    of_layouts: list[ViolationChange] = []  # of a whole site

    def tables(self) -> dict[str, list[Verdict]]:
        """Return the tables by stage; empty: there is none yet."""
        return {"before": self.before, "after": self.after or []}

    def of_benchmarks(self) -> bool:
        """Left by `plumbline overlap tune`."""
        return any(verdict.kind in ("overlap", "nonblocking") for verdict in self.before)

    def headline(self) -> str:
        """Return the sentence about what was violated, and what is."""
        way = use(self.campaign)
        if self.of_layouts:
            removed = sum(change.removed for change in self.of_layouts)
            before = sum(change.before for change in self.of_layouts)
            layouts = counted(len(self.of_layouts), "layout")
            return f"violations in the campaigns of {layouts}: {removed} removed of {before}"
        if self.after is None:
            return f"{standing(self.before, way)} so far"
        if verifies_only(self.campaign.settings):
            return standing(self.after, way)
        return change(self.before, self.after, way)

    def remaining(self, slower: Sequence[Behind] | None = None) -> list[Remaining]:
        """Return the violations that are left, each with what its search found, and why it was not
        enough. `slower`: what `behind` has returned; None: it is called."""
        if self.of_benchmarks():
            whole = [search for search in self.searches if search.function == EVERY_FUNCTION]
            why = whole[-1].reason if whole else "not searched"
            still_violated = [
                verdict for verdict in self.after or [] if verdict.verdict == "violated"
            ]
            return [Remaining(verdict, why) for verdict in still_violated]
        slower = self.behind() if slower is None else slower
        did = Searched(self.searches, self.winners, self.events, slower, self.saving)
        return did.remaining(self.after or [])

    def behind(self) -> list[Behind]:
        """Return the cells whose answer is behind the best that their search has measured."""
        if self.after is None:
            return []
        return behind(self.searches, self.winners, whole_functions(self.library))

    def without_cells(self) -> list[str]:
        """Guidelines that were asked for by id, and that nothing here could be compared for."""
        guidelines_asked = msgspec.json.decode(self.campaign.settings).get("guidelines", [])
        compared = {verdict.guideline.upper() for verdict in self.before}
        named = {id for id in guidelines_asked if not id.startswith(LEFT_OUT)}
        return sorted(named - {EVERY} - compared, key=by_number)

    def not_proven(self) -> list[str]:
        """Sentences about winners of which nothing shows that the library takes them."""
        own_functions = {winner.function for winner in self.winners if winner.variant == "default"}
        not_proven = [event for event in self.events if event.kind == "not proven"]
        return list(
            dict.fromkeys(event.text for event in not_proven if event.function in own_functions)
        )

    def notes(self) -> list[str]:
        """Return what became of winners that are not among the winners, and what was (not) in
        force."""
        kinds = (
            "winner dropped",
            "winner narrowed",
            "results checked",
            "more violations",
            PUT_ASIDE,
            MEMBERS_DIFFER,
            SLOW_MESSAGES,
            NO_TIME,
            NOT_ASKED,
            HINTS,
            "not in force",
            "left out",
            "site",
        )
        return [f"{event.kind}: {event.said}" for event in self.events if event.kind in kinds]


def read(db: Database, campaign_id: str | None, *, conditions: bool = True) -> Report:
    """Return the report of a campaign; `conditions`: with those of all its launches, which takes as
    long as all the rest."""
    campaign = campaigns.get(db, campaign_id)
    library = machines.library(db, campaign.library_fingerprint)
    # If nothing had to be searched, the first table is also the last one.
    last = "after" if "after" in findings.stages(db, campaign.id) else "before"
    finished = last == "after" or campaign.state == "finished"
    after = findings.get_verdicts(db, campaign.id, last) if finished else None
    kept = findings.get_winners(db, campaign.id)
    before = findings.get_verdicts(db, campaign.id, "before")
    hours = spread.hours(db, campaign)
    launches = runs.surroundings(db, campaign.id)
    repeated = [name for name, suite in runs.suites(db, campaign.id).items() if suite.was_repeated]
    report = Report(
        campaign=campaign,
        state=campaigns.state(db, campaign),
        to_continue="" if campaign.state == "finished" else campaigns.how_to_continue(db, campaign),
        machine=machines.machine(db, campaign.machine),
        library=library,
        before=before,
        after=after,
        winners=spread.with_hours(kept, hours),
        searches=findings.all_searches(db, campaign.id),
        exports=campaigns.exports(db, campaign.id),
        events=campaigns.events(db, campaign.id),
        cost=cost.cost(db, campaign.id),
        cost_of_load=other_work.cost(launches, repeated, after or before),
        spent=None if is_simulated(campaign) else cost.spent(db, campaign.id),
        saving=saving.of(db, campaign, after, kept),
        wrong=runs.wrong(db, campaign.id),
        placed=started.lines(db, campaign.id),
        hours=hours,
        repetitions=repetitions.stored(db, campaign.id) if _counts(campaign) else [],
        factors=effects_of_factors(db, campaign.machine, campaign.library_fingerprint),
        of_layouts=[_changed(db, member) for member in campaigns.of_site(db, campaign.id)],
    )
    if not conditions:
        return report

    launch_conditions_of_all = _conditions_of_launches(
        db, campaign, library, launches, report.tables()
    )
    return msgspec.structs.replace(report, conditions=launch_conditions_of_all)


def _changed(db: Database, campaign: Campaign) -> ViolationChange:
    tables = {stage: findings.get_verdicts(db, campaign.id, stage) for stage in ("before", "after")}
    return changed(tables["before"], tables["after"] or tables["before"])


def _counts(campaign: Campaign) -> bool:
    """Return whether a stopping rule has counted the repetitions of each case."""
    return bool(msgspec.json.decode(campaign.settings, type=dict[str, Any]).get("nrep"))


_OF_CAMPAIGN = ("started", "finished", "nprocs", "nodes", "ppn", "oversubscribed")


def document(report: Report, *, all_cells: bool = False) -> dict[str, Any]:
    """`all_cells` puts every verdict under `cells_all`, not only the violations."""
    campaign = report.campaign
    names = guidelines.of_settings(campaign.settings).names()
    slower = report.behind()
    concerned = dict.fromkeys(verdict.guideline for verdict in report.before)
    return {
        "campaign": campaign.id,
        "imported_from": campaign.imported_from,
        "state": report.state,
        **{name: getattr(campaign, name) for name in _OF_CAMPAIGN},
        "layout": layout(campaign),
        "placed": report.placed,
        "use": use(campaign),
        "environment": asked(campaign).environment,
        "machine": msgspec.to_builtins(report.machine),
        "library": msgspec.to_builtins(report.library),
        "headline": report.headline(),
        "guidelines": {name: names[name] for name in concerned if name in names},
        "before": _stage(report.before, names, all_cells),
        "after": None if report.after is None else _stage(report.after, names, all_cells),
        "without_cells": report.without_cells(),
        "wrong": msgspec.to_builtins(report.wrong),
        "repetitions": msgspec.to_builtins(report.repetitions),
        "winners": [_winner(winner) for winner in report.winners],
        "hours": None if report.hours is None else report.hours.document(),
        "not_proven": report.not_proven(),
        "application": msgspec.to_builtins(report.saving),
        "factors": msgspec.to_builtins(report.factors),
        "remaining": [_remaining(cell, names) for cell in report.remaining(slower)],
        "behind": msgspec.to_builtins(slower),
        "exports": [msgspec.to_builtins(export) for export in report.exports],
        "events": [msgspec.to_builtins(event) for event in report.events],
        "conditions": (msgspec.to_builtins(report.conditions) or {})
        | {"cost_of_load": report.cost_of_load},
        "cost": msgspec.to_builtins(report.cost)
        | {"timed_share": timed_share(report.cost), "spent": msgspec.to_builtins(report.spent)},
    }


def documents(reports: Sequence[Report], *, all_cells: bool = False) -> Any:
    """One document, or for the campaigns of a file {"campaigns": [document, …]}."""
    made = [document(report, all_cells=all_cells) for report in reports]
    return made[0] if len(made) == 1 else {"campaigns": made}


def timed_share(spent: cost.Cost) -> float:
    """The share of the launches' wall time that was spent inside timed regions."""
    return spent.timed_seconds / spent.seconds if spent.seconds else 0.0


def _stage(table: list[Verdict], names: Mapping[str, str], all_cells: bool) -> dict[str, Any]:
    stage = {
        "cells": len(table),
        "undecided": sum(verdict.verdict == "undecided" for verdict in table),
        "violated_everywhere": len(everywhere(table)),
        "violated_in_some_uses": len(somewhere(table)),
        "violations": _named(
            [verdict for verdict in table if verdict.verdict == "violated"], names
        ),
    }
    return stage | ({"cells_all": _named(table, names)} if all_cells else {})


def _named(table: list[Verdict], names: Mapping[str, str]) -> list[dict[str, object]]:
    return [
        {"guideline": verdict.guideline, "name": names.get(verdict.guideline)} | fields
        for verdict, fields in zip(table, as_json(table), strict=True)
    ]


_RATIOS = ("ratio", "ratio_low", "ratio_high")


def _remaining(cell: Remaining, names: Mapping[str, str]) -> dict[str, Any]:
    verdict, trial = cell.verdict, cell.trial
    return {
        "guideline": verdict.guideline,
        "name": names.get(verdict.guideline),
        **{name: getattr(verdict, name) for name in ("function", "bytes", *_RATIOS)},
        **{name: getattr(cell, name) for name in ("reason", "candidates", "configuration")},
        **{name.replace("ratio", "of_default"): getattr(trial, name, None) for name in _RATIOS},
        "of_right_side": cell.of_right_side,
    }


def _winner(winner: Winner) -> dict[str, Any]:
    """Return the winner as stored; `bytes_to` is null where there is no upper end."""
    values: dict[str, Any] = msgspec.to_builtins(winner)
    if winner.bytes_to == UNBOUNDED_BYTES:
        values["bytes_to"] = None
    return values
