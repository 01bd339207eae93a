"""Alarms of watched cells, the searches that they opened, and what was applied or rolled back."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline_db import campaigns, columns
from plumbline_db.statements import Statements
from plumbline_db.watch_records import CellAlarm, Retuning

_OF_CAMPAIGN = "WHERE :campaign IS NULL OR campaign = :campaign ORDER BY number"


def raised(db: Statements, alarm: CellAlarm) -> int:
    """Return its number; inside the caller's transaction. A cell that has an open one of the same
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
    return int(columns.put(db, "alarm", alarm, "RETURNING number"))


def renew(db: Statements, number: int, alarm: CellAlarm) -> None:
    """Store what has become of it."""
    columns.renew(db, "alarm", number, alarm)


def every(db: Statements, campaign: str | None = None) -> list[tuple[int, CellAlarm]]:
    """Return them with their numbers, in the order in which they were raised: those of one campaign
    (None: of all)."""
    return columns.numbered(db, "alarm", CellAlarm, _OF_CAMPAIGN, {"campaign": campaign})


def still_open(db: Statements, campaign: str) -> list[tuple[int, CellAlarm]]:
    return [(number, alarm) for number, alarm in every(db, campaign) if alarm.is_open]


def opened(db: Statements, retuning: Retuning) -> int:
    """Return its number; inside the caller's transaction."""
    campaigns.require(db, retuning.campaign)
    return int(columns.put(db, "retuning", retuning, "RETURNING number"))


def renew_retuning(db: Statements, number: int, retuning: Retuning) -> None:
    """Store what has become of it."""
    columns.renew(db, "retuning", number, retuning)


def retunings(db: Statements, campaign: str | None = None) -> list[tuple[int, Retuning]]:
    """Return them with their numbers, in the order in which they were opened: those of one campaign
    (None: of all)."""
    return columns.numbered(db, "retuning", Retuning, _OF_CAMPAIGN, {"campaign": campaign})


def of_retuning(db: Statements, number: int) -> Sequence[tuple[int, CellAlarm]]:
    """The alarms that opened it."""
    where = "WHERE retuning = :number ORDER BY number"
    return columns.numbered(db, "alarm", CellAlarm, where, {"number": number})
