"""Reasons why each place on the axis of a suite's curves was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from plumbline_db import campaigns, columns
from plumbline_db.record import Record
from plumbline_db.records import Suite
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


def stored_suite(name: str, look: int = 1) -> Suite:
    """The launches of a look at the suite that a file calls `name`."""
    return Suite("suite", step=name, look=look)


def put(db: Statements, campaign: str, points: Sequence[SuitePoint]) -> None:
    """Store them in one transaction. What is known of a place stays: it was first measured for
    that."""
    with db.transaction():
        campaigns.require(db, campaign)
        rows = [columns.values(point) | {"campaign": campaign} for point in points]
        columns.put_rows(db, "point", rows, "ON CONFLICT DO NOTHING")


def get(db: Statements, campaign: str) -> list[SuitePoint]:
    """Return them by suite, axis and place."""
    where = "WHERE campaign = :campaign ORDER BY suite, axis, place"
    return columns.all_of(db, "point", SuitePoint, where, {"campaign": campaign})
