"""The cases of a launch: configurations, checks and raw samples, from records and back to them.

`records` gives back everything that was put in, so nothing of what the probe said is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from plumbline_db import columns, configurations, overlaps, rank_series, series, summaries, trust
from plumbline_db.blobs import blob, text, times
from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    Header,
    KnobReading,
    Order,
    ProbeRecord,
    RankSamples,
    Samples,
)
from plumbline_db.statements import Statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_readings = msgspec.json.Decoder(dict[str, KnobReading])


def samples(db: Statements, run: int, case: int | None = None) -> list[Samples]:
    """Return those of the launch numbered `run`, or of one case of it, in the order of the cases,
    without those that were thrown away."""
    cases = dict(
        db.rows(
            """SELECT m.number, m.case_id FROM measurement m
               JOIN series s ON s.measurement = m.number
               WHERE m.run = :run AND (:case IS NULL OR m.case_id = :case)""",
            {"run": run, "case": case},
        )
    )
    found = series.of(db, list(cases))
    return [one.record(cases[number]) for number, one in found.items()]


def by_case(
    db: Statements, campaign: str, suite: str, sequence: int
) -> dict[int, list[NDArray[np.int64]]]:
    """The samples of each case of a launch in nanoseconds, one array a block, without warm-up, by
    case number: where one plan holds the same case twice, or the same case with planted delays,
    `runs.medians` would pool what this tells apart. Those of a transit too, so that blocks pair.
    Only of cases whose check is ok; none where the launch has not finished."""
    rows = db.rows(
        """SELECT m.number, m.case_id
           FROM suite JOIN run ON run.suite = suite.number
           JOIN measurement m ON m.run = run.number
           WHERE suite.campaign = :campaign AND suite.name = :suite AND run.sequence = :sequence
             AND run.failure IS NULL AND m.outcome = 'ok'""",
        {"campaign": campaign, "suite": suite, "sequence": sequence},
    )
    found = series.of(db, [number for number, _ in rows])
    cases = {case: found[number].by_block() for number, case in rows if number in found}
    return {case: blocks for case, blocks in cases.items() if blocks}


def put(db: Statements, run: int, records: Sequence[ProbeRecord]) -> None:
    """Store the records of the launch numbered `run`, inside the caller's transaction."""
    known = {"default": configurations.number(db, {})}
    taken = [record for record in records if isinstance(record, Samples)]
    others = [record for record in records if not isinstance(record, Samples)]  # far fewer
    for record in others:
        if isinstance(record, ConfigRecord):
            wanted = {name: reading.wanted for name, reading in record.knobs.items()}
            known[record.id] = configurations.number(db, wanted)
            columns.put_row(
                db,
                "run_configuration",
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
            order = {"run": run, "block": record.block, "cases": blob(record.cases)}
            columns.put_row(db, "block_order", order)
    rows = _put_cases(db, run, others, known)
    series.put(db, rows, taken)
    summaries.put(db, rows, records)
    trust.put(db, run, others, rows)
    overlaps.put(db, run, others)
    rank_series.put(db, rows, others)


def _put_cases(
    db: Statements, run: int, records: Sequence[ProbeRecord], known: dict[str, int]
) -> dict[int, int]:
    """Rows of the cases, by case id."""
    begun = {record.case for record in records if isinstance(record, Begin)}
    checks = {record.case: record for record in records if isinstance(record, Check)}
    (last,) = db.row("SELECT coalesce(max(number), 0) FROM measurement") or (0,)
    values: list[dict[str, Any]] = []
    for record in records:
        if not isinstance(record, CaseRecord):
            continue
        if record.config not in known:
            raise ValueError(f"case {record.case} names config {record.config}, which is not there")
        check = checks.get(record.case)
        planned = columns.values(record, "case") | {"configuration": known[record.config]}
        values.append(
            {
                "number": last + 1 + len(values),
                "run": run,
                "case_id": record.case,
                "planned_case": columns.number(db, "planned_case", planned),
                "begun": record.case in begun,
                "outcome": check.outcome if check else None,
                "detail": check.detail if check else "",
            }
        )
    columns.put_rows(db, "measurement", values)
    return {row["case_id"]: row["number"] for row in values}


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
        result.append(msgspec.json.decode(text(row[1]), type=Header))
    result += [
        ConfigRecord(id, bool(in_force), reason, _readings.decode(readings))
        for id, in_force, reason, readings in db.rows(
            """SELECT id, in_force, reason, readings FROM run_configuration
               WHERE run = :run ORDER BY id""",
            key,
        )
    ]
    cases = db.rows(
        f"""SELECT case_id, {", ".join(CaseRecord.__struct_fields__[1:])}, begun, outcome, detail
            FROM measurement m JOIN planned_case p ON p.number = m.planned_case
            WHERE run = :run ORDER BY m.number""",  # noqa: S608
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
    """The order of each block with the times of its ranks, then the samples."""
    by_block: dict[int, list[RankSamples]] = {}
    for ranks in rank_series.of_run(db, key["run"]):
        by_block.setdefault(ranks.block, []).append(ranks)
    found: list[ProbeRecord] = []
    for block, cases in db.rows(
        "SELECT block, cases FROM block_order WHERE run = :run ORDER BY block", key
    ):
        order = times(cases)
        found.append(Order(block, order))
        own = {ranks.case: ranks for ranks in by_block.get(block, [])}
        found += [own[case] for case in order if case in own]
    return [*found, *samples(db, key["run"])]
