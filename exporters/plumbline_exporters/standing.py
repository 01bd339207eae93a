"""How one campaign stands, for the page. What all campaigns together know of a place is in
plumbline_db.coverage."""

from __future__ import annotations

import msgspec

from plumbline_db import campaigns, exports, machines, verdicts, winners
from plumbline_db.connection import Database
from plumbline_db.coverage import Count
from plumbline_db.order import by_number
from plumbline_db.records import Campaign, Export, Library, Machine, Verdict, Winner


class Standing(msgspec.Struct, frozen=True):
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
