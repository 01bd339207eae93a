"""The violation tables of a campaign, one for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from plumbline_db import campaigns, columns, coverage_renewal
from plumbline_db.coverage import Coverage
from plumbline_db.records import Verdict
from plumbline_db.statements import Statements


class NewestVerdict(NamedTuple):
    campaign: str
    verdict: Verdict


def newest_of_place(
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
        for verdict in get(db, campaign.id, stage) if campaign.id in speak else ():
            cells[campaign.use, *about(verdict)] = NewestVerdict(campaign.id, verdict)
    return list(cells.values())


def about(verdict: Verdict) -> tuple[Any, ...]:
    """Return what a verdict is about: two of the same cell say the same thing at different
    times."""
    sides = (verdict.kind, verdict.function, verdict.lhs, verdict.rhs)
    sizes = (verdict.bytes, verdict.other_bytes, verdict.factor, verdict.ranks)
    return (verdict.guideline, *sides, *sizes)


def put(db: Statements, campaign: str, stage: str, verdicts: Sequence[Verdict]) -> None:
    """Replace the table of a stage. ValueError when a verdict belongs to another stage, or holds
    NaN: what could not be computed is None, with its reason."""
    for verdict in verdicts:
        if verdict.stage != stage:
            raise ValueError(f"a verdict of stage {verdict.stage} among those of {stage}")
    with db.transaction():
        campaigns.require(db, campaign)
        key = {"campaign": campaign, "stage": stage}
        db.rows("DELETE FROM verdict WHERE campaign = :campaign AND stage = :stage", key)
        columns.put_list(db, "verdict", verdicts, campaign=campaign)
        if stage in coverage_renewal.STAGES:
            coverage_renewal.renew(db, campaign)


def get(db: Statements, campaign: str, stage: str) -> list[Verdict]:
    """Return them in the order in which they were put."""
    where = "WHERE campaign = :campaign AND stage = :stage ORDER BY position"
    key = {"campaign": campaign, "stage": stage}
    return columns.all_of(db, "verdict", Verdict, where, key)


def stages(db: Statements, campaign: str) -> list[str]:
    """`before`, then the others by name with `after` last."""
    stage_rows = db.rows(
        "SELECT DISTINCT stage FROM verdict WHERE campaign = :campaign", {"campaign": campaign}
    )
    first_and_last = {"before": 0, "after": 2}
    return sorted(
        (str(stage) for (stage,) in stage_rows), key=lambda s: (first_and_last.get(s, 1), s)
    )
