"""What was told by mail or webhook."""

from __future__ import annotations

from plumbline_db import columns
from plumbline_db.statements import Statements
from plumbline_db.watch_records import Notice


def put(db: Statements, notice: Notice) -> None:
    with db.transaction():
        columns.put(db, "notice", notice)


def since(db: Statements, time: str) -> list[Notice]:
    """From that time of day on, in the order in which they were made."""
    where = "WHERE time >= :time ORDER BY number"
    return columns.all_of(db, "notice", Notice, where, {"time": time})
