"""The cases of a launch: configurations, checks and raw samples, from records and back to them.

`records` gives back everything that was put in, so nothing of what the probe said is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from plumbline_db import configurations, overlaps, trust
from plumbline_db.blobs import blob, times
from plumbline_db.records import (
    Begin,
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    Header,
    KnobReading,
    Order,
    ProbeRecord,
    Samples,
)
from plumbline_db.statements import Statements


def samples(db: Statements, run: int, case: int | None = None) -> list[Samples]:
    """Of the launch numbered `run`, or of one case of it, in the order of the blocks."""
    found = db.rows(
        """SELECT m.case_id, b.block, b.warmup, b.samples, b.late, b.overrun, b.counts, b.window_ns,
                  b.budget_spent, b.settled
           FROM measurement m JOIN sample_block b ON b.measurement = m.number
           WHERE m.run = :run AND (:case IS NULL OR m.case_id = :case) ORDER BY b.block""",
        {"run": run, "case": case},
    )
    return [
        Samples(
            *(case_id, block, times(warmup), times(ns), late, overrun),
            *(msgspec.json.decode(counts, type=dict[str, int]), window_ns),
            *(bool(spent), bool(settled)),
        )
        for case_id, block, warmup, ns, late, overrun, counts, window_ns, spent, settled in found
    ]


def put(db: Statements, run: int, records: Sequence[ProbeRecord]) -> None:
    """Store the records of the launch numbered `run`, inside the caller's transaction."""
    known = {"default": configurations.number(db, {})}
    for record in records:
        if isinstance(record, ConfigRecord):
            wanted = {name: reading.wanted for name, reading in record.knobs.items()}
            known[record.id] = configurations.number(db, wanted)
            db.rows(
                """INSERT INTO run_configuration
                   VALUES (:run, :id, :configuration, :in_force, :reason, :readings)""",
                {
                    "run": run,
                    "id": record.id,
                    "configuration": known[record.id],
                    "in_force": record.in_force,
                    "reason": record.reason,
                    "readings": msgspec.json.encode(record.knobs).decode(),
                },
            )
        elif isinstance(record, Order):
            db.rows(
                "INSERT INTO block_order VALUES (:run, :block, :cases)",
                {
                    "run": run,
                    "block": record.block,
                    "cases": msgspec.json.encode(record.cases).decode(),
                },
            )
    rows = _put_cases(db, run, records, known)
    db.many(
        """INSERT INTO sample_block
           VALUES (:measurement, :block, :warmup, :samples, :late, :overrun, :window_ns,
                   :budget_spent, :counts, :settled)""",
        [
            {
                "measurement": rows[record.case],
                "block": record.block,
                "warmup": blob(record.warmup_ns),
                "samples": blob(record.ns),
                "late": record.late,
                "overrun": record.overrun,
                "window_ns": record.window_ns,
                "budget_spent": record.budget_spent,
                "counts": msgspec.json.encode(record.counts).decode(),
                "settled": record.settled,
            }
            for record in records
            if isinstance(record, Samples)
        ],
    )
    trust.put(db, run, records, rows)
    overlaps.put(db, run, records)


def _put_cases(
    db: Statements, run: int, records: Sequence[ProbeRecord], known: dict[str, int]
) -> dict[int, int]:
    """Rows of the cases, by case id."""
    begun = {record.case for record in records if isinstance(record, Begin)}
    checks = {record.case: record for record in records if isinstance(record, Check)}
    rows: dict[int, int] = {}
    for record in records:
        if not isinstance(record, CaseRecord):
            continue
        if record.config not in known:
            raise ValueError(f"case {record.case} names config {record.config}, which is not there")
        check = checks.get(record.case)
        ((rows[record.case],),) = db.rows(
            """INSERT INTO measurement (run, case_id, function, variant, config, configuration,
                   bytes, bytes_moved, type, op, root, reps, delay_ns, ranks, use,
                   calls, least, mean, begun, outcome, detail)
               VALUES (:run, :case, :function, :variant, :config, :configuration,
                   :bytes, :bytes_moved, :type, :op, :root, :reps, :delay_ns, :ranks, :use,
                   :calls, :least, :mean, :begun, :outcome, :detail)
               RETURNING number""",
            msgspec.structs.asdict(record)
            | {
                "run": run,
                "configuration": known[record.config],
                "begun": record.case in begun,
                "outcome": check.outcome if check else None,
                "detail": check.detail if check else "",
            },
        )
    return rows


def records(db: Statements, run_id: str) -> list[ProbeRecord]:
    """Everything the probe wrote in a launch: header, configs, cases, then begin and last check of
    each case, the clocks, the blocks in their order, what came of them (stopping rules, refusals,
    round trips, clocks at the end, load), then the footer."""
    row = db.row("SELECT number, header, footer FROM run WHERE id = :id", {"id": run_id})
    if row is None:
        raise ValueError(f"run {run_id} is not stored in {db.path}")
    key = {"run": row[0]}
    result: list[ProbeRecord] = []
    if row[1] is not None:
        result.append(msgspec.json.decode(row[1], type=Header))
    result += [
        ConfigRecord(id, bool(in_force), reason, _readings(readings))
        for id, in_force, reason, readings in db.rows(
            """SELECT id, in_force, reason, readings FROM run_configuration
               WHERE run = :run ORDER BY id""",
            key,
        )
    ]
    cases = db.rows(
        """SELECT case_id, function, variant, config, bytes, bytes_moved, type, op, root, reps,
                  delay_ns, ranks, use, calls, least, mean, begun, outcome, detail
           FROM measurement WHERE run = :run ORDER BY number""",
        key,
    )
    result += [CaseRecord(*case[:-3]) for case in cases]
    for case_id, *_, begun, outcome, detail in cases:
        if begun:
            result.append(Begin(case_id))
        if outcome is not None:
            result.append(Check(case_id, outcome, detail))
    result += trust.before_blocks(db, row[0])
    result += _blocks(db, key)
    result += trust.after_blocks(db, row[0])
    if row[2] is not None:
        result.append(msgspec.json.decode(row[2], type=Footer))
    return result


def _blocks(db: Statements, key: dict[str, Any]) -> list[ProbeRecord]:
    orders = {
        block: Order(block, msgspec.json.decode(cases, type=list[int]))
        for block, cases in db.rows("SELECT block, cases FROM block_order WHERE run = :run", key)
    }
    every = samples(db, key["run"])
    result: list[ProbeRecord] = []
    for block in sorted(orders.keys() | {record.block for record in every}):
        rank: dict[int, int] = {}
        if block in orders:
            result.append(orders[block])
            rank = {case: position for position, case in enumerate(orders[block].cases)}
        here = [(rank.get(s.case, len(rank)), s.case, s) for s in every if s.block == block]
        result += [record for _, _, record in sorted(here, key=lambda ranked: ranked[:2])]
    return result


def _readings(text: str) -> dict[str, KnobReading]:
    return msgspec.json.decode(text, type=dict[str, KnobReading])
