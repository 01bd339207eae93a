"""The records of a launch, kept as the probe wrote them: a record a line, as one compressed text.
Header, load and footer, which tell of the whole launch, have columns of their own in `run`.

The table cell_time has the cases of launches: what became of the check of each, and its samples in
short. Pages, tables and searches read that; times of single calls, of ranks, clocks or overlap come
from the records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from plumbline_db import columns
from plumbline_db.blobs import record_lines, records_blob, text
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.probe_records import (
    CaseRecord,
    Check,
    ConfigRecord,
    Footer,
    Header,
    Load,
    ProbeRecord,
    Refused,
    Samples,
    Transit,
)
from plumbline_db.statements import Statements

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Kind = TypeVar("_Kind", bound=ProbeRecord)

_decoder = msgspec.json.Decoder(ProbeRecord)
_SAMPLES_OF = re.compile(rb'\{"record":"samples","case":(\d+)[,}]')


class PrunedError(PlumblineError):
    """Samples are asked for that were thrown away."""


def stored(db: Statements, run: int) -> list[ProbeRecord]:
    """Return the records of the launch numbered `run`, without header, load and footer."""
    return list(_decoded(_stored(db, [run]).get(run, [])))


def of_run(db: Statements, run_id: str) -> list[ProbeRecord]:
    """Return everything that the probe wrote in a launch: the header first, load and footer last.
    Raises ValueError where the launch is not there, or cannot be read."""
    row = db.row("SELECT number, header, load, footer FROM run WHERE id = :id", {"id": run_id})
    if row is None:
        raise ValueError(f"run {run_id} is not stored in {db.path}")
    number, header, load, footer = row
    launch_records: list[ProbeRecord] = []
    if header is not None:
        launch_records.append(msgspec.json.decode(text(header), type=Header))
    launch_records += stored(db, number)
    if load is not None:
        launch_records.append(msgspec.json.decode(load, type=Load))
    if footer is not None:
        launch_records.append(msgspec.json.decode(footer, type=Footer))
    return launch_records


def of_kind(db: Statements, runs: Collection[int], kind: type[_Kind]) -> dict[int, list[_Kind]]:
    """Return the records of one kind, by the number of the launch, in the order of `runs`."""
    begin = b'{"record":"%s"' % str(kind.__struct_config__.tag).encode()
    lines = _stored(db, runs)
    return {
        run: [
            record
            for record in _decoded(line for line in lines.get(run, []) if line.startswith(begin))
            if isinstance(record, kind)
        ]
        for run in runs
    }


def samples(db: Statements, cases: Mapping[int, Collection[int]]) -> dict[tuple[int, int], Samples]:
    """Return the samples of cases, by the number of the launch and of the case. `cases`: the cases
    of each launch, all of which have some. Raises PrunedError where some were thrown away."""
    samples_by_case = samples_there(db, cases)
    for run, needed_cases in cases.items():
        if any((run, case) not in samples_by_case for case in needed_cases):
            raise pruned(db, run)
    return samples_by_case


def samples_there(
    db: Statements, cases: Mapping[int, Collection[int]]
) -> dict[tuple[int, int], Samples]:
    """Return the samples of those of the cases that have some."""
    return {
        (run, record.case): record
        for run, lines in _stored(db, list(cases)).items()
        for record in _decoded(line for line in lines if _is_of_case(line, cases[run]))
        if isinstance(record, Samples)
    }


def replace(db: Statements, run: int, records: Sequence[ProbeRecord]) -> None:
    """Store these records of a launch in place of those that are there, inside the caller's
    transaction."""
    db.rows(
        "UPDATE run SET records = :records WHERE number = :run",
        {"run": run, "records": records_blob(records)},
    )


def _stored(db: Statements, runs: Collection[int]) -> dict[int, list[bytes]]:
    """Return the lines of each launch."""
    rows = db.rows(
        "SELECT number, records FROM run WHERE number IN (SELECT value FROM json_each(:runs))",
        {"runs": msgspec.json.encode(sorted(runs)).decode()},
    )
    return {number: record_lines(records) for number, records in rows}


def _decoded(lines: Iterable[bytes]) -> Iterator[ProbeRecord]:
    return map(_decoder.decode, lines)


def _is_of_case(line: bytes, cases: Collection[int]) -> bool:
    """Return whether a line has the samples of one of the cases: others need not be read."""
    case = _SAMPLES_OF.match(line)
    return case is not None and int(case[1]) in cases


def pruned(db: Statements, run: int) -> Exception:
    """Return what to raise where a launch lacks samples of a case that was timed."""
    row = db.row(
        """SELECT pruned.campaign, pruned.time, pruned.why FROM run
           JOIN suite ON suite.number = run.suite JOIN pruned ON pruned.campaign = suite.campaign
           WHERE run.number = :run""",
        {"run": run},
    )
    if row is None:
        return ValueError(f"launch {run} has no samples of a case that was timed")
    return PrunedError(
        f"{db.path}: samples of campaign {row[0]} were thrown away on {row[1]} ({row[2]}). "
        f"Its medians are there (`{command_name()} db table medians`); a backup may have "
        "the samples, or measure anew"
    )


# The samples of a case in short, in the columns of the table.
SUMMARY = (
    "n",
    "least_ns",
    "quartile_1_ns",
    "median_ns",
    "quartile_3_ns",
    "percentile_95_ns",
    "greatest_ns",
)
_SHARES = {"quartile_1_ns": 0.25, "quartile_3_ns": 0.75, "percentile_95_ns": 0.95}
_NONE: dict[str, Any] = dict.fromkeys(SUMMARY)


def put_cell_times(db: Statements, run: int, records: Sequence[ProbeRecord]) -> None:
    """Store the cases of the launch numbered `run`, inside the caller's transaction. Raises
    ValueError where a case names a configuration that is not there."""
    rows = _rows(db, records)
    columns.put_rows(db, "cell_time", [row | {"run": run} for row in rows])


def _rows(db: Statements, records: Sequence[ProbeRecord]) -> list[dict[str, Any]]:
    configuration_numbers = {"default": columns.configuration(db, {})}
    cases: list[CaseRecord] = []
    checks: dict[int, Check] = {}
    refused: dict[int, str] = {}
    transits: dict[int, int] = {}
    unsettled: set[int] = set()
    for record in records:
        match record:
            case ConfigRecord():
                knobs = {name: reading.wanted for name, reading in record.knobs.items()}
                configuration_numbers[record.id] = columns.configuration(db, knobs)
            case CaseRecord():
                cases.append(record)
            case Check():
                checks[record.case] = record  # the last one holds
            case Refused():
                refused[record.case] = record.reason
            case Transit():
                transits[record.case] = record.blocks
            case Samples():
                if not all(record.settled):
                    unsettled.add(record.case)
    summaries = summed_up(records)
    rows = []
    for record in sorted(cases, key=lambda case_record: case_record.case):
        if record.config not in configuration_numbers:
            raise ValueError(f"case {record.case} names config {record.config}, which is not there")
        check = checks.get(record.case)
        planned = columns.values(record, "case") | {
            "configuration": configuration_numbers[record.config]
        }
        rows.append(
            {
                "case_id": record.case,
                "planned_case": columns.number(db, "planned_case", planned),
                "outcome": check.outcome if check else None,
                "detail": check.detail if check else "",
                "refused": refused.get(record.case),
                "transit": transits.get(record.case, 0),
                "settled": record.case not in unsettled,
                **summaries.get(record.case, _NONE),
            }
        )
    return rows


def require_cell_times(db: Statements, run_id: str, records: Iterable[ProbeRecord]) -> None:
    """Raises ValueError where the times of a launch are not those of its samples, as far as these
    are there."""
    stored = _stored_times(db, run_id)
    for case, summary in summed_up(records).items():
        if stored.get(case) != summary:
            raise ValueError(f"launch {run_id}: summaries of case {case} are not of its samples")


def without_samples(
    db: Statements, run_id: str, records: Iterable[ProbeRecord]
) -> dict[int, dict[str, Any]]:
    """Return the times of those cases of a launch whose samples are not among its records."""
    cases_with_samples = {record.case for record in records if isinstance(record, Samples)}
    return {
        case: times
        for case, times in _stored_times(db, run_id).items()
        if case not in cases_with_samples
    }


def add_cell_times(db: Statements, run_id: str, times: Mapping[int, Mapping[str, Any]]) -> None:
    """Store the times of cases without samples, by case number, inside the caller's transaction:
    what `without_samples` has of the same launch elsewhere."""
    assigned = ", ".join(f"{name} = :{name}" for name in SUMMARY)
    db.many(
        f"""UPDATE cell_time SET {assigned} WHERE case_id = :case
            AND run = (SELECT number FROM run WHERE id = :run)""",  # noqa: S608
        [{"run": run_id, "case": case, **values} for case, values in times.items()],
    )


def _stored_times(db: Statements, run_id: str) -> dict[int, dict[str, Any]]:
    rows = db.rows(
        f"""SELECT case_id, {", ".join(SUMMARY)} FROM cell_time
            WHERE run = (SELECT number FROM run WHERE id = :run) AND n IS NOT NULL
            ORDER BY case_id""",  # noqa: S608
        {"run": run_id},
    )
    return {case: dict(zip(SUMMARY, values, strict=True)) for case, *values in rows}


def summed_up(records: Iterable[ProbeRecord]) -> dict[int, dict[str, Any]]:
    """Return the samples of each case in short. Blocks of a transit do not count, and a case
    without samples is not there."""
    import numpy as np

    kept = list(records)
    first = {record.case: record.blocks for record in kept if isinstance(record, Transit)}
    by_number: dict[int, list[tuple[int, list[int]]]] = {}
    for record in kept:
        if isinstance(record, Samples) and record.ns:
            ns = record.from_block(first[record.case]) if record.case in first else record.ns
            if ns:
                by_number.setdefault(len(ns), []).append((record.case, ns))
    summary_by_case: dict[int, dict[str, Any]] = {}
    for cases in by_number.values():
        summaries = times_of_rows(np.array([ns for _, ns in cases], dtype="<i8"))
        summary_by_case |= zip((case for case, _ in cases), summaries, strict=True)
    return summary_by_case


def times_of_rows(samples: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return each row of samples (cases × samples, nanoseconds) in short. A quantile is the
    shortest sample that so large a share does not exceed (definition 1 of Hyndman and Fan 1996),
    the median the usual one."""
    import numpy as np

    n = samples.shape[1]
    ordered = np.sort(samples, axis=1)
    # The result equals Python's median even if the sum of two values exceeds a 64-bit integer.
    low, high = ordered[:, (n - 1) // 2], ordered[:, n // 2]
    summary_columns = {
        "n": np.full(len(samples), n),
        "least_ns": ordered[:, 0],
        "median_ns": low / 2 + high / 2 if n % 2 == 0 else low.astype("<f8"),
        "greatest_ns": ordered[:, -1],
    }
    for name, share in _SHARES.items():
        summary_columns[name] = ordered[:, int(np.ceil(share * n)) - 1]
    listed = [summary_columns[name].tolist() for name in SUMMARY]
    return [dict(zip(SUMMARY, row, strict=True)) for row in zip(*listed, strict=True)]
