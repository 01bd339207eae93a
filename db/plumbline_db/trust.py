"""How far a launch can be trusted: its clocks, stopping rules, transits, refusals, load; and the
round trips between its ranks. Stored and read back with the launch, by `measurements`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from plumbline_db import columns, overlaps
from plumbline_db.blobs import blob, times
from plumbline_db.probe_records import (
    ClockError,
    ClockModel,
    ClockSync,
    HostLoad,
    Load,
    Nrep,
    PingPong,
    ProbeRecord,
    Refused,
    Transit,
)
from plumbline_db.record import Record
from plumbline_db.statements import Statements

# Tables of what is said of a case.
_OF_CASES: dict[str, type[Nrep | Transit | Refused]] = {
    "nrep": Nrep,
    "transit": Transit,
    "refusal": Refused,
}


def put(
    db: Statements, run: int, records: Sequence[ProbeRecord], measurements: Mapping[int, int]
) -> None:
    """Store them, inside the caller's transaction. `measurements`: rows of the cases, by case id.
    A load without hosts says nothing and is not kept."""
    found: dict[type[Record], list[Any]] = {}
    for record in records:
        found.setdefault(type(record), []).append(record)
    columns.put_list(db, "clock_sync", found.get(ClockSync, []), run=run)
    columns.put_list(db, "clock_model", found.get(ClockModel, []), run=run)
    errors = [
        columns.values(error, "when") | {"run": run, "moment": error.when}
        for error in found.get(ClockError, [])
    ]
    columns.put_rows(db, "clock_error", errors)
    for table, kind in _OF_CASES.items():
        rows = [
            columns.values(record, "case") | {"measurement": measurements[record.case]}
            for record in found.get(kind, [])
        ]
        columns.put_rows(db, table, rows)
    pingpongs = [
        columns.values(pingpong, "round_trip_ns")
        | {"run": run, "position": position, "round_trips": blob(pingpong.round_trip_ns)}
        for position, pingpong in enumerate(found.get(PingPong, []))
    ]
    columns.put_rows(db, "pingpong", pingpongs)
    hosts = [host for load in found.get(Load, []) for host in load.hosts]
    columns.put_list(db, "host_load", hosts, run=run)


def before_blocks(db: Statements, run: int) -> list[ProbeRecord]:
    """The clocks, as they were when the blocks began."""
    key = {"run": run}
    where = "WHERE run = :run ORDER BY position"
    return [
        *columns.all_of(db, "clock_sync", ClockSync, where, key),
        *columns.all_of(db, "clock_model", ClockModel, where, key),
        *_clock_errors(db, run, "start"),
    ]


def after_blocks(db: Statements, run: int) -> list[ProbeRecord]:
    """Stopping rules, transits, refusals in the order of the cases, round trips, clocks, load."""
    pairs = db.rows(
        """SELECT first, second, pair, bytes, round_trips FROM pingpong
           WHERE run = :run ORDER BY position""",
        {"run": run},
    )
    load = load_of(db, run)
    return [
        *(record for table in _OF_CASES for record in _of_cases(db, run, table)),
        *(
            PingPong(first, second, pair, size, times(trips))
            for first, second, pair, size, trips in pairs
        ),
        *overlaps.of_run(db, run),
        *_clock_errors(db, run, "end"),
        *([load] if load else []),
    ]


def _of_cases(db: Statements, run: int, table: str) -> list[Nrep | Transit | Refused]:
    """In the order of the cases."""
    kind = _OF_CASES[table]
    rows = db.rows(
        f"""SELECT m.case_id, {", ".join(kind.__struct_fields__[1:])}
            FROM {table} t JOIN measurement m ON m.number = t.measurement
            WHERE m.run = :run ORDER BY m.number""",  # noqa: S608
        {"run": run},
    )
    return [columns.read(kind, row) for row in rows]


def load_of(db: Statements, run: int) -> Load | None:
    """What else the hosts of the launch numbered `run` did; None where it did not say."""
    where = "WHERE run = :run ORDER BY position"
    hosts = columns.all_of(db, "host_load", HostLoad, where, {"run": run})
    return Load(hosts) if hosts else None


def _clock_errors(db: Statements, run: int, moment: str) -> list[ClockError]:
    found = db.rows(
        """SELECT moment, since_ns, errors_ns, bounds_ns FROM clock_error
           WHERE run = :run AND moment = :moment""",
        {"run": run, "moment": moment},
    )
    return [
        ClockError(when, since, *(msgspec.json.decode(text, type=list[int]) for text in lists))
        for when, since, *lists in found
    ]
