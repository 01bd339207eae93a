"""The findings of `plumbline overlap tune`, cell by cell, before and after, from the database."""

from __future__ import annotations

import statistics

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines
from plumbline.overlap import sides, tune
from plumbline.overlap.sides import Times
from plumbline.overlap.tune import Asked
from plumbline_db import verdicts
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Verdict


class TimedVerdict(msgspec.Struct, frozen=True):
    """A verdict with the times behind it, in seconds, medians of its launches. `overhead_ratio`:
    what both take beyond the longer of the two, over the shorter (None without work)."""

    verdict: str
    measured: float | None
    communication: float | None
    computation: float | None
    overhead_ratio: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    reason: str


class TunedGuideline(msgspec.Struct, frozen=True):
    """A guideline at a benchmark and size; `lhs` and `rhs` are the sides with the largest ratio,
    before."""

    guideline: str
    bench: str
    bytes: int
    lhs: str
    rhs: str
    before: TimedVerdict
    after: TimedVerdict | None


def lines(db: Database, campaign: Campaign, guidelines: Guidelines) -> list[TunedGuideline]:
    """Return those of a run that has verdicts, in their order."""
    asked = msgspec.json.decode(campaign.settings, type=Asked)
    own = sides.own_ns(sides.read(db, campaign.id, ["pilot"]), tune.LEAST_NS)
    grid = tune.grid_of(asked, guidelines, own)
    before = verdicts.get(db, campaign.id, "before")
    after = {_place(verdict): verdict for verdict in verdicts.get(db, campaign.id, "after")}
    return [
        TunedGuideline(
            verdict.guideline,
            verdict.function,
            verdict.bytes,
            verdict.lhs,
            verdict.rhs,
            _state(db, campaign.id, grid, verdict, verdict),
            _state(db, campaign.id, grid, later, verdict)
            if (later := after.get(_place(verdict)))
            else None,
        )
        for verdict in before
    ]


def _place(verdict: Verdict) -> tuple[str, str, int]:
    return verdict.guideline, verdict.function, verdict.bytes


def _state(
    db: Database, campaign: str, grid: sides.OverlapGrid, verdict: Verdict, shown: Verdict
) -> TimedVerdict:
    """A verdict, with the times of the side that is `shown`."""
    side = Side(shown.function, shown.lhs, shown.bytes)
    (cell,) = grid.cells([side])
    key = (side.function, side.bytes, cell.work_ns)
    times = [
        medians[key] for _, medians in sides.read(db, campaign, verdict.suites) if key in medians
    ]
    middle = Times(*map(statistics.median, zip(*times, strict=True))) if times else None
    return TimedVerdict(
        verdict.verdict,
        middle.both if middle else None,
        middle.communication if middle else None,
        middle.computation if middle and cell.work_ns else None,
        _overhead(middle) if middle and cell.work_ns else None,
        verdict.ratio,
        verdict.ratio_low,
        verdict.ratio_high,
        verdict.reason,
    )


def _overhead(times: Times) -> float | None:
    shorter = min(times.communication, times.computation)
    return (
        (times.both - max(times.communication, times.computation)) / shorter
        if shorter > 0
        else None
    )
