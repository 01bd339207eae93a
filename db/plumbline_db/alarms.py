"""Alarms of watched cells, the searches that they opened, and what was applied or rolled back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plumbline_db import campaigns, columns
from plumbline_db.statements import Statements
from plumbline_db.watch_records import CellAlarm, Retuning


def raised(db: Statements, alarm: CellAlarm) -> int:
    """Its number; inside the caller's transaction. A cell that has an open one of the same
    direction has that one still: it is seen again, and its largest change kept."""
    campaigns.require(db, alarm.campaign)
    row = db.row(
        """SELECT number FROM alarm
           WHERE campaign = :campaign AND function = :function AND variant = :variant
             AND bytes = :bytes AND direction = :direction AND ended = ''""",
        columns.values(alarm),
    )
    if row is not None:
        db.rows(
            """UPDATE alarm SET ratio = :ratio, seen = :seen,
                   largest = CASE WHEN abs(ln(:ratio)) > abs(ln(largest)) THEN :ratio
                                  ELSE largest END
               WHERE number = :number""",
            {"ratio": alarm.ratio, "seen": alarm.seen, "number": row[0]},
        )
        return int(row[0])
    ((number,),) = db.rows(
        columns.insert("alarm", CellAlarm) + "RETURNING number", columns.values(alarm)
    )
    return int(number)


def renew(db: Statements, number: int, alarm: CellAlarm) -> None:
    """What has become of it; inside the caller's transaction."""
    db.rows(
        columns.update("alarm", CellAlarm) + "WHERE number = :number",
        columns.values(alarm) | {"number": number},
    )


def every(db: Statements, campaign: str | None = None) -> list[tuple[int, CellAlarm]]:
    """With their numbers, in the order in which they were raised; of one campaign (None: of
    all)."""
    return _alarms(db, "(:campaign IS NULL OR campaign = :campaign)", {"campaign": campaign})


def still_open(db: Statements, campaign: str) -> list[tuple[int, CellAlarm]]:
    return _alarms(db, "campaign = :campaign AND ended = ''", {"campaign": campaign})


def _alarms(db: Statements, condition: str, values: dict[str, Any]) -> list[tuple[int, CellAlarm]]:
    found = db.rows(
        f"SELECT number, {columns.names(CellAlarm)} FROM alarm WHERE {condition} ORDER BY number",  # noqa: S608
        values,
    )
    return [(number, CellAlarm(*row)) for number, *row in found]


def opened(db: Statements, retuning: Retuning) -> int:
    """Its number; inside the caller's transaction."""
    campaigns.require(db, retuning.campaign)
    ((number,),) = db.rows(
        columns.insert("retuning", Retuning) + "RETURNING number", columns.values(retuning)
    )
    return int(number)


def renew_retuning(db: Statements, number: int, retuning: Retuning) -> None:
    """What has become of it; inside the caller's transaction."""
    db.rows(
        columns.update("retuning", Retuning) + "WHERE number = :number",
        columns.values(retuning) | {"number": number},
    )


def retunings(db: Statements, campaign: str | None = None) -> list[tuple[int, Retuning]]:
    """With their numbers, in the order in which they were opened; of one campaign (None: of
    all)."""
    found = db.rows(
        f"""SELECT number, {columns.names(Retuning)} FROM retuning
            WHERE :campaign IS NULL OR campaign = :campaign ORDER BY number""",  # noqa: S608
        {"campaign": campaign},
    )
    return [(number, Retuning(*row)) for number, *row in found]


def of_retuning(db: Statements, number: int) -> Sequence[tuple[int, CellAlarm]]:
    """The alarms that opened it."""
    return _alarms(db, "retuning = :number", {"number": number})
