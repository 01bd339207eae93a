"""Recordings in which collectives that are made by hand were looked for, and what was found."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db import blobs, columns
from plumbline_db.record import Record
from plumbline_db.statements import Statements


class Detection(Record, frozen=True):
    """`id` tells recordings apart by what is in them; `seconds` from the first MPI_Init to the last
    MPI_Finalize; `looked`: when (ISO 8601); `findings`: JSON."""

    id: str
    recording: str
    command: str
    library: str
    nprocs: int
    seconds: float
    looked: str
    replayed: bool
    findings: str


def put(db: Statements, detection: Detection) -> None:
    """Store, in place of what was found in the same recording before."""
    values = msgspec.structs.asdict(detection)
    values |= {"replayed": int(detection.replayed), "findings": blobs.text_blob(detection.findings)}
    changed = columns.renewed(Detection, "id")
    with db.transaction():
        db.rows(
            columns.insert("detection", Detection) + f"ON CONFLICT (id) DO UPDATE SET {changed}",
            values,
        )


def every(db: Statements) -> list[Detection]:
    """The one that was looked at last first."""
    rows = db.rows(_SELECT + "ORDER BY looked DESC, number DESC")
    return [_detection(row) for row in rows]


def get(db: Statements, id: str) -> Detection | None:
    row = db.row(_SELECT + "WHERE id = :id", {"id": id})
    return None if row is None else _detection(row)


_SELECT = columns.select("detection", Detection)


def _detection(row: tuple[Any, ...]) -> Detection:
    values = dict(zip(Detection.__struct_fields__, row, strict=True))
    values |= {"replayed": bool(values["replayed"]), "findings": blobs.text(values["findings"])}
    return Detection(**values)
