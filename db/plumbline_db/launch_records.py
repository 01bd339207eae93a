"""The records of a launch, kept as the probe wrote them: a record a line, as one compressed text.
Header, load and footer, which tell of the whole launch, have columns of their own in `run`.

What is looked for most stands in the table cell_time (cell_times.py). Whoever wants times of single
calls, of ranks, clocks or overlap reads them here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from plumbline_db.blobs import record_lines, records_blob, text
from plumbline_db.errors import PlumblineError, command_name
from plumbline_db.probe_records import Footer, Header, Load, ProbeRecord, Samples
from plumbline_db.statements import Statements

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
