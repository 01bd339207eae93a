"""The winners of a campaign: what replaces the default, and where."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline_db import campaigns, columns, configurations, coverage_renewal
from plumbline_db.records import Winner
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, winners: Sequence[Winner]) -> None:
    """Replace all winners of a campaign."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows("DELETE FROM winner WHERE campaign = :campaign", {"campaign": campaign})
        columns.put_rows(
            db,
            "winner",
            [
                columns.values(winner)
                | {"campaign": campaign, "position": position}
                | {"configuration": configurations.number(db, winner.configuration)}
                for position, winner in enumerate(winners)
            ],
        )
        coverage_renewal.renew(db, campaign)


def get(db: Statements, campaign: str) -> list[Winner]:
    """Return them in the order in which they were put."""
    select = columns.select("winner", Winner).replace(
        "configuration",
        "(SELECT knobs FROM configuration c WHERE c.number = winner.configuration)",
        1,
    )
    rows = db.rows(select + "WHERE campaign = :id ORDER BY position", {"id": campaign})
    return [columns.read(Winner, row) for row in rows]


def speedups(db: Statements, campaign: str) -> dict[str, list[float]]:
    """Return the speed-ups of the winners of each function; functions by name."""
    speedups_by_function: dict[str, list[float]] = {}
    for function, speedup in db.rows(
        "SELECT function, speedup FROM winner WHERE campaign = :campaign ORDER BY function",
        {"campaign": campaign},
    ):
        speedups_by_function.setdefault(function, []).append(speedup)
    return speedups_by_function
