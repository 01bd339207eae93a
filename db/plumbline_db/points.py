"""Why each place on the axis of a suite's curves was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from plumbline_db import campaigns
from plumbline_db.record import Record
from plumbline_db.statements import Statements

Axis = Literal["bytes", "ranks"]
Why = Literal["asked", "curvature", "crossover", "jump"]


class SuitePoint(Record, frozen=True):
    """A place on the axis of the curves of a suite, and why it was measured: it was asked for, or
    after a look at the curves there was most to learn there. `look`: 1 of what was asked for."""

    suite: str
    axis: Axis
    place: int
    look: int = 1
    why: Why = "asked"
    detail: str = ""


_FIELDS = ", ".join(SuitePoint.__struct_fields__)


def put(db: Statements, campaign: str, points: Sequence[SuitePoint]) -> None:
    """In one transaction. What is known of a place stays: it was first measured for that."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.many(
            """INSERT INTO point VALUES (:campaign, :suite, :axis, :place, :look, :why, :detail)
               ON CONFLICT DO NOTHING""",
            [msgspec.structs.asdict(point) | {"campaign": campaign} for point in points],
        )


def get(db: Statements, campaign: str) -> list[SuitePoint]:
    """By suite, axis and place."""
    rows = db.rows(
        f"""SELECT {_FIELDS} FROM point WHERE campaign = :campaign
            ORDER BY suite, axis, place""",  # noqa: S608
        {"campaign": campaign},
    )
    return [SuitePoint(*row) for row in rows]
