"""Overlap cells of launches: times, events, and the latency beside them."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline_db import launch_records
from plumbline_db.probe_records import Overlap, OverlapLatency, OverlapTrace, ProbeRecord
from plumbline_db.statements import Statements


def of_suites(
    db: Statements, campaign: str, suites: Sequence[str]
) -> list[tuple[int, list[ProbeRecord]]]:
    """Return those of the finished launches of some suites, by the number of each launch, in their
    order."""
    records_by_launch: list[tuple[int, list[ProbeRecord]]] = []
    for suite in dict.fromkeys(suites):
        rows = db.rows(
            """SELECT run.number FROM run JOIN suite ON run.suite = suite.number
               WHERE suite.campaign = :campaign AND suite.name = :suite
                 AND run.failure IS NULL ORDER BY run.sequence""",
            {"campaign": campaign, "suite": suite},
        )
        records_by_launch += [(int(number), _of_run(db, number)) for (number,) in rows]
    return records_by_launch


def of_launch(db: Statements, id: str) -> list[ProbeRecord]:
    """Return those of a launch: latency at the start, cells with their events in the order in which
    they were measured, latency at the end."""
    ((number,),) = db.rows("SELECT number FROM run WHERE id = :id", {"id": id})
    return _of_run(db, number)


def _of_run(db: Statements, run: int) -> list[ProbeRecord]:
    return [
        record
        for record in launch_records.stored(db, run)
        if isinstance(record, Overlap | OverlapLatency | OverlapTrace)
    ]
