"""How things stand: for each machine, library and number of ranks, the campaign that speaks for it.

Shared by the metrics and the page, so that both tell the same story.
"""

from __future__ import annotations

from statistics import median

import msgspec

from plumbline_db import campaigns, exports, machines, verdicts, winners
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Export, Library, Machine, Verdict, Winner


class Place(msgspec.Struct, frozen=True, order=True):
    """What results are compared within. Its fields are the labels of the metrics."""

    machine: str
    library: str
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
    return Place(campaign.machine, library.id, campaign.nprocs, campaign.ppn)


def current(db: Database) -> list[Standing]:
    """For each place the last campaign that has verdicts, by place."""
    return _last(db, campaigns.all_campaigns(db))


def overlap(db: Database) -> list[Standing]:
    """The same of `plumbline overlap tune`: other guidelines at the same places."""
    return _last(db, campaigns.tuned_overlap(db))


def _last(db: Database, those: list[Campaign]) -> list[Standing]:
    latest: dict[Place, Campaign] = {}
    for campaign in those:
        if verdicts.stages(db, campaign.id):
            latest[place(db, campaign)] = campaign
    return [standing(db, latest[where]) for where in sorted(latest)]


def standing(db: Database, campaign: Campaign) -> Standing:
    """One campaign. Only the stages `before` and `after`: rounds are its inner affair."""
    counts = {}
    for stage in ("before", "after"):
        table = verdicts.get(db, campaign.id, stage)
        if table:
            counts[stage] = _by_guideline(table)
    return Standing(
        place=place(db, campaign),
        campaign=campaign,
        machine=machines.machine(db, campaign.machine),
        library=machines.library(db, campaign.library_fingerprint),
        counts=counts,
        winners=winners.get(db, campaign.id),
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
        for guideline, group in sorted(grouped.items())
    }


def speedups(chosen: list[Winner]) -> dict[str, tuple[float, float]]:
    """Function -> (best, median) of default time over winner's time, one value a winner."""
    grouped: dict[str, list[float]] = {}
    for winner in chosen:
        grouped.setdefault(winner.function, []).append(winner.speedup)
    return {name: (max(values), median(values)) for name, values in sorted(grouped.items())}
