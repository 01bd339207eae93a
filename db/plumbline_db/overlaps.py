"""Overlap cells of a launch, stored and read back with it, by `measurements`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline_db import columns
from plumbline_db.blobs import blob, times
from plumbline_db.probe_records import Overlap, OverlapLatency, OverlapTrace, ProbeRecord
from plumbline_db.statements import Statements


def put(db: Statements, run: int, records: Sequence[ProbeRecord]) -> None:
    """Store them, inside the caller's transaction."""
    cells = list(
        enumerate(record for record in records if isinstance(record, Overlap | OverlapTrace))
    )
    columns.put_rows(
        db,
        "overlap",
        [
            columns.values(record, "communication_ns", "computation_ns", "both_ns")
            | {
                "run": run,
                "position": position,
                "communication": blob(record.communication_ns),
                "computation": blob(record.computation_ns),
                "both": blob(record.both_ns),
            }
            for position, record in cells
            if isinstance(record, Overlap)
        ],
    )
    columns.put_rows(
        db,
        "overlap_trace",
        [
            columns.values(record, "begin_ns", "end_ns")
            | {
                "run": run,
                "position": position,
                "peers": blob(record.peers),
                "numbers": blob(record.numbers),
                "begin": blob(record.begin_ns),
                "end": blob(record.end_ns),
            }
            for position, record in cells
            if isinstance(record, OverlapTrace)
        ],
    )
    latencies = [record for record in records if isinstance(record, OverlapLatency)]
    rows = [
        {"run": run, "position": position, "when": latency.when, "ns": blob(latency.ns)}
        for position, latency in enumerate(latencies)
    ]
    columns.put_rows(db, "overlap_latency", rows)


def of_run(db: Statements, run: int) -> list[ProbeRecord]:
    """Those of the launch numbered `run`: latency at the start, cells with their events in the
    order in which they were measured, latency at the end."""
    rows = db.rows(
        """SELECT cell, bench, bytes, sent, kernel, work_ns, test_ns, units, latencies, halves,
               rank, function, requests, threads, helper, spare, delivered, communication,
               computation, both, position
           FROM overlap WHERE run = :run ORDER BY position""",
        {"run": run},
    )
    names = Overlap.__struct_fields__
    placed = _traces(db, run)
    for row in rows:
        values = (*row[:14], *map(bool, row[14:17]), *map(times, row[17:20]))
        placed[row[20]] = Overlap(**dict(zip(names, values, strict=True)))
    cells = [placed[position] for position in sorted(placed)]
    found = [
        OverlapLatency(when, times(ns))
        for when, ns in db.rows(
            'SELECT "when", ns FROM overlap_latency WHERE run = :run ORDER BY position',
            {"run": run},
        )
    ]
    start = [latency for latency in found if latency.when == "start"]
    return [*start, *cells, *(latency for latency in found if latency.when == "end")]


def _traces(db: Statements, run: int) -> dict[int, ProbeRecord]:
    """By position."""
    rows = db.rows(
        """SELECT position, cell, rank, triple, part, names, peers, numbers, "begin", "end"
           FROM overlap_trace WHERE run = :run""",
        {"run": run},
    )
    return {
        position: OverlapTrace(
            cell,
            rank,
            triple,
            part,
            msgspec.json.decode(names, type=list[str]),
            *map(times, lists),
        )
        for position, cell, rank, triple, part, names, *lists in rows
    }


def of_suites(
    db: Statements, campaign: str, suites: Sequence[str]
) -> list[tuple[int, list[ProbeRecord]]]:
    """Those of the finished launches of some suites, by the number of each launch, in their
    order."""
    found: list[tuple[int, list[ProbeRecord]]] = []
    for suite in dict.fromkeys(suites):
        rows = db.rows(
            """SELECT run.number FROM run JOIN suite ON run.suite = suite.number
               WHERE suite.campaign = :campaign AND suite.name = :suite
                 AND run.failure IS NULL ORDER BY run.sequence""",
            {"campaign": campaign, "suite": suite},
        )
        found += [(int(number), of_run(db, number)) for (number,) in rows]
    return found


def of_launch(db: Statements, id: str) -> list[ProbeRecord]:
    """The same, by the id of a launch."""
    ((number,),) = db.rows("SELECT number FROM run WHERE id = :id", {"id": id})
    return of_run(db, number)
