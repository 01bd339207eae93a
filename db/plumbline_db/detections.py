"""Recordings in which collectives that are made by hand were looked for, and what was found."""

from __future__ import annotations

from plumbline_db import blobs, columns
from plumbline_db.records import Record
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
    changed = f"ON CONFLICT (id) DO UPDATE SET {columns.renewed(Detection, 'id')}"
    findings = blobs.text_blob(detection.findings)
    with db.transaction():
        columns.put(db, "detection", detection, changed, findings=findings)


def every(db: Statements) -> list[Detection]:
    """The one that was looked at last first."""
    return _all(db, "ORDER BY looked DESC, number DESC")


def get(db: Statements, id: str) -> Detection | None:
    return next(iter(_all(db, "WHERE id = :id", id=id)), None)


def _all(db: Statements, condition: str, **values: str) -> list[Detection]:
    rows = db.rows(columns.select("detection", Detection) + condition, values)
    return [columns.read(Detection, (*row, blobs.text(findings))) for *row, findings in rows]
