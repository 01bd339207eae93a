"""How things stand: one campaign, for the page; and for each machine, library and number of ranks
what all campaigns together know of it, for the metrics.

Campaigns speak cell by cell: what a later, smaller one has measured takes the place of those very
cells, and all others stay as the earlier one left them.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import msgspec

from plumbline_db import campaigns, exports, machines, verdicts, winners
from plumbline_db.connection import Database
from plumbline_db.layout import use
from plumbline_db.order import by_number
from plumbline_db.records import Campaign, Export, Library, Machine, Verdict, Winner


class Place(msgspec.Struct, frozen=True, order=True):
    """What results are compared within. Its fields are the labels of the metrics."""

    machine: str
    library: str
    fingerprint: str
    nprocs: int
    ppn: int


class Count(msgspec.Struct, frozen=True):
    """One guideline at one stage. `worst_ratio` is None when no cell could be judged."""

    violations: int
    undecided: int
    worst_ratio: float | None


class Standing(msgspec.Struct, frozen=True):
    place: Place
    campaign: Campaign
    machine: Machine
    library: Library
    counts: dict[str, dict[str, Count]]
    winners: list[Winner]
    exports: list[Export]

    def total(self, stage: str) -> Count | None:
        """All guidelines of a stage together; None when the stage has not been verified."""
        parts = self.counts.get(stage)
        if parts is None:
            return None
        ratios = [part.worst_ratio for part in parts.values() if part.worst_ratio is not None]
        return Count(
            sum(part.violations for part in parts.values()),
            sum(part.undecided for part in parts.values()),
            max(ratios, default=None),
        )


def place(db: Database, campaign: Campaign) -> Place:
    library = machines.library(db, campaign.library_fingerprint)
    return Place(campaign.machine, library.id, library.fingerprint, campaign.nprocs, campaign.ppn)


class Share(msgspec.Struct, frozen=True):
    """How many cells of a place a campaign speaks for. `measured`: not before then (ISO 8601)."""

    campaign: Campaign
    verdicts: int
    measured: str


class Coverage(msgspec.Struct, frozen=True):
    """What is known of a place. `shares`, by stage, are the campaigns that speak; `in_force`: the
    campaign whose `winners` are in use; None without winners."""

    place: Place
    machine: Machine
    library: Library
    counts: dict[str, dict[str, Count]]
    shares: dict[str, list[Share]]
    in_force: Campaign | None
    winners: list[Winner]

    @property
    def speaking(self) -> list[Campaign]:
        """The campaigns that speak for a cell of any stage, in the order of their ids."""
        found = {
            share.campaign.id: share.campaign for shares in self.shares.values() for share in shares
        }
        return [found[id] for id in sorted(found, key=by_number)]


def coverage(db: Database) -> list[Coverage]:
    """Of each place that has verdicts, by place."""
    return _covered(db, campaigns.all_campaigns(db))


def overlap(db: Database) -> list[Coverage]:
    """The same of `plumbline overlap tune`: other guidelines at the same places."""
    return _covered(db, campaigns.tuned_overlap(db))


def _covered(db: Database, those: Sequence[Campaign]) -> list[Coverage]:
    at: dict[Place, list[Campaign]] = {}
    for campaign in those:
        at.setdefault(place(db, campaign), []).append(campaign)
    found = [_coverage(db, where, at[where]) for where in sorted(at)]
    return [covered for covered in found if covered.shares]


def _coverage(db: Database, where: Place, those: Sequence[Campaign]) -> Coverage:
    """`those` in the order in which they were started."""
    kept = {campaign.id: winners.get(db, campaign.id) for campaign in those}

    def confirmed(campaign: Campaign) -> tuple[bool, bool, str]:
        """The table with winners in force speaks before one without, the later before the earlier,
        and any before that of a campaign that is not at its end."""
        return campaign.state == "finished", bool(kept[campaign.id]), campaign.finished

    searched = [
        campaign
        for campaign in sorted(those, key=confirmed)
        if kept[campaign.id] or not campaigns.verifies_only(campaign)
    ]
    in_force = next(
        (campaign for campaign in reversed(searched) if all(confirmed(campaign)[:2])), None
    )
    counts, shares = {}, {}
    for stage, ordered in (("before", those), ("after", searched)):
        newest: dict[tuple[Any, ...], tuple[Campaign, Verdict]] = {}
        for campaign in ordered:
            for verdict in verdicts.get(db, campaign.id, stage):
                newest[use(campaign), *_cell(verdict)] = campaign, verdict
        if newest:
            counts[stage] = _by_guideline([verdict for _, verdict in newest.values()])
            shares[stage] = _shares([campaign for campaign, _ in newest.values()], stage)
    return Coverage(
        place=where,
        machine=machines.machine(db, where.machine),
        library=machines.library(db, where.fingerprint),
        counts=counts,
        shares=shares,
        in_force=in_force,
        winners=[] if in_force is None else kept[in_force.id],
    )


def _cell(verdict: Verdict) -> tuple[Any, ...]:
    """What a verdict is about: two of the same cell say the same thing at different times."""
    names = ("guideline", "kind", "function", "lhs", "rhs", "bytes", "other_bytes", "factor")
    sides = tuple(getattr(verdict, name) for name in names)
    return (*sides, verdict.ranks)


def _shares(speaking: Sequence[Campaign], stage: str) -> list[Share]:
    """Of the campaigns of all cells of a stage, by id. The library as it is was measured when a
    campaign began, the exported files at its end."""
    found = []
    by_id = {campaign.id: campaign for campaign in speaking}
    for id in sorted(by_id, key=by_number):
        campaign = by_id[id]
        ended = stage == "after" and campaign.finished
        count = sum(campaign.id == id for campaign in speaking)
        found.append(Share(campaign, count, campaign.finished if ended else campaign.started))
    return found


def standing(db: Database, campaign: Campaign) -> Standing:
    """One campaign. Only the stages `before` and `after`: rounds are its inner affair, and the
    last table of one that searches nothing is its first."""
    counts = {}
    kept = winners.get(db, campaign.id)
    for stage in ("before", "after"):
        table = verdicts.get(db, campaign.id, stage)
        if table and (stage == "before" or kept or not campaigns.verifies_only(campaign)):
            counts[stage] = _by_guideline(table)
    return Standing(
        place=place(db, campaign),
        campaign=campaign,
        machine=machines.machine(db, campaign.machine),
        library=machines.library(db, campaign.library_fingerprint),
        counts=counts,
        winners=kept,
        exports=exports.get(db, campaign.id),
    )


def _by_guideline(table: list[Verdict]) -> dict[str, Count]:
    grouped: dict[str, list[Verdict]] = {}
    for verdict in table:
        grouped.setdefault(verdict.guideline, []).append(verdict)
    return {
        guideline: Count(
            sum(verdict.verdict == "violated" for verdict in group),
            sum(verdict.verdict == "undecided" for verdict in group),
            max((v.ratio for v in group if v.ratio is not None), default=None),
        )
        for guideline, group in sorted(grouped.items(), key=lambda item: by_number(item[0]))
    }


def speedups(chosen: list[Winner]) -> dict[str, tuple[float, float]]:
    """Function -> (best, median) of default time over winner's time, one value a winner."""
    grouped: dict[str, list[float]] = {}
    for winner in chosen:
        grouped.setdefault(winner.function, []).append(winner.speedup)
    return {name: (max(values), median(values)) for name, values in sorted(grouped.items())}
