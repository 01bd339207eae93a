"""The verdicts that speak for the cells of a place today, each with the campaign that it is of:
those from which coverage_renewal.py counts."""

from __future__ import annotations

from typing import Any, NamedTuple

from plumbline_db import coverage_renewal, verdicts
from plumbline_db.coverage import Coverage
from plumbline_db.records import Verdict
from plumbline_db.statements import Statements


class NewestVerdict(NamedTuple):
    campaign: str
    verdict: Verdict


def of_place(
    db: Statements, coverage: Coverage, stage: str, command: str = ""
) -> list[NewestVerdict]:
    """One for each cell that has a verdict at a stage, `before` or `after`."""
    if stage not in coverage.stages:
        return []
    place = coverage.place
    speak = {share.campaign for share in coverage.stages[stage].shares}
    key: dict[str, Any] = {"machine": place.machine, "library_fingerprint": place.fingerprint}
    key |= {"nprocs": place.nprocs, "ppn": place.ppn, "command": command}
    cells: dict[tuple[Any, ...], NewestVerdict] = {}
    for campaign in coverage_renewal.in_order(coverage_renewal.campaigns_of(db, key))[stage]:
        for verdict in verdicts.get(db, campaign.id, stage) if campaign.id in speak else ():
            cells[campaign.use, *about(verdict)] = NewestVerdict(campaign.id, verdict)
    return list(cells.values())


def about(verdict: Verdict) -> tuple[Any, ...]:
    """Return what a verdict is about: two of the same cell say the same thing at different
    times."""
    sides = (verdict.kind, verdict.function, verdict.lhs, verdict.rhs)
    sizes = (verdict.bytes, verdict.other_bytes, verdict.factor, verdict.ranks)
    return (verdict.guideline, *sides, *sizes)
