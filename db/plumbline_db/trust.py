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
    Criterion,
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

_BY_DOMAIN = ("errors_ns", "bounds_ns")


def put(
    db: Statements, run: int, records: Sequence[ProbeRecord], measurements: Mapping[int, int]
) -> None:
    """Store them, inside the caller's transaction. `measurements`: rows of the cases, by case id.
    A load without hosts says nothing and is not kept."""
    found: dict[type[Record], list[Any]] = {}
    for record in records:
        found.setdefault(type(record), []).append(record)
    db.many(
        columns.insert("clock_sync", ClockSync, "run", "position"),
        _rows(run, found.get(ClockSync, [])),
    )
    db.many(
        columns.insert("clock_model", ClockModel, "run", "position"),
        _rows(run, found.get(ClockModel, [])),
    )
    db.many(
        "INSERT INTO clock_error VALUES (:run, :when, :since_ns, :errors_ns, :bounds_ns)",
        [
            row | {name: msgspec.json.encode(row[name]).decode() for name in _BY_DOMAIN}
            for row in _rows(run, found.get(ClockError, []))
        ],
    )
    db.many(
        "INSERT INTO refusal VALUES (:measurement, :reason)",
        [
            {"measurement": measurements[refused.case], "reason": refused.reason}
            for refused in found.get(Refused, [])
        ],
    )
    db.many(
        "INSERT INTO transit VALUES (:measurement, :blocks)",
        [
            {"measurement": measurements[transit.case], "blocks": transit.blocks}
            for transit in found.get(Transit, [])
        ],
    )
    db.many(
        "INSERT INTO nrep VALUES (:measurement, :nrep, :ended_by, :criteria)",
        [
            {
                "measurement": measurements[nrep.case],
                "nrep": nrep.nrep,
                "ended_by": nrep.ended_by,
                "criteria": msgspec.json.encode(nrep.criteria).decode(),
            }
            for nrep in found.get(Nrep, [])
        ],
    )
    db.many(
        """INSERT INTO pingpong VALUES (:run, :position, :first, :second, :pair, :bytes,
                                        :round_trips)""",
        [
            row | {"round_trips": blob(row["round_trip_ns"])}
            for row in _rows(run, found.get(PingPong, []))
        ],
    )
    hosts = [host for load in found.get(Load, []) for host in load.hosts]
    db.many(
        columns.insert("host_load", HostLoad, "run", "position"),
        _rows(run, hosts),
    )


def _rows(run: int, records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        msgspec.structs.asdict(record) | {"run": run, "position": position}
        for position, record in enumerate(records)
    ]


def before_blocks(db: Statements, run: int) -> list[ProbeRecord]:
    """The clocks, as they were when the blocks began."""
    key = {"run": run}
    where = "WHERE run = :run ORDER BY position"
    syncs = db.rows(columns.select("clock_sync", ClockSync) + where, key)
    models = db.rows(columns.select("clock_model", ClockModel) + where, key)
    return [
        *(ClockSync(*row) for row in syncs),
        *(ClockModel(*row) for row in models),
        *_clock_errors(db, run, "start"),
    ]


def after_blocks(db: Statements, run: int) -> list[ProbeRecord]:
    """Stopping rules, transits, refusals in the order of the cases, round trips, clocks, load."""
    key = {"run": run}
    nreps = db.rows(
        """SELECT m.case_id, n.nrep, n.ended_by, n.criteria
           FROM nrep n JOIN measurement m ON m.number = n.measurement
           WHERE m.run = :run ORDER BY m.number""",
        key,
    )
    refusals = db.rows(
        """SELECT m.case_id, r.reason FROM refusal r JOIN measurement m ON m.number = r.measurement
           WHERE m.run = :run ORDER BY m.number""",
        key,
    )
    transits = db.rows(
        """SELECT m.case_id, t.blocks FROM transit t JOIN measurement m ON m.number = t.measurement
           WHERE m.run = :run ORDER BY m.number""",
        key,
    )
    pairs = db.rows(
        """SELECT first, second, pair, bytes, round_trips FROM pingpong
           WHERE run = :run ORDER BY position""",
        key,
    )
    load = load_of(db, run)
    return [
        *(
            Nrep(case, nrep, ended_by, msgspec.json.decode(text, type=list[Criterion]))
            for case, nrep, ended_by, text in nreps
        ),
        *(Transit(*row) for row in transits),
        *(Refused(*row) for row in refusals),
        *(
            PingPong(first, second, pair, size, times(trips))
            for first, second, pair, size, trips in pairs
        ),
        *overlaps.of_run(db, run),
        *_clock_errors(db, run, "end"),
        *([load] if load else []),
    ]


def load_of(db: Statements, run: int) -> Load | None:
    """What else the hosts of the launch numbered `run` did; None where it did not say."""
    where = "WHERE run = :run ORDER BY position"
    hosts = db.rows(columns.select("host_load", HostLoad) + where, {"run": run})
    return Load([HostLoad(*row) for row in hosts]) if hosts else None


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
