"""The winners of a campaign: what replaces the default, and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from plumbline_db import campaigns, configurations, coverage_renewal, nan
from plumbline_db.records import Tried, Winner
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, winners: Sequence[Winner]) -> None:
    """Replace all winners of a campaign."""
    for winner in winners:
        nan.refuse(winner, winner.search_speedup, winner.speedup)
        nan.refuse(winner, winner.speedup_low, winner.speedup_high)
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows("DELETE FROM winner WHERE campaign = :campaign", {"campaign": campaign})
        db.many(
            """INSERT INTO winner VALUES (:campaign, :position, :function, :nprocs, :ppn,
                   :bytes_from, :bytes_to, :variant, :configuration, :search_speedup, :speedup,
                   :speedup_low, :speedup_high, :removes, :restrictions, :tried)""",
            [_values(db, campaign, position, winner) for position, winner in enumerate(winners)],
        )
        coverage_renewal.renew(db, campaign)


def _values(db: Statements, campaign: str, position: int, winner: Winner) -> dict[str, Any]:
    return msgspec.structs.asdict(winner) | {
        "campaign": campaign,
        "position": position,
        "configuration": configurations.number(db, winner.configuration),
        "removes": msgspec.json.encode(winner.removes).decode(),
        "restrictions": msgspec.json.encode(winner.restrictions).decode(),
        "tried": msgspec.json.encode(winner.tried).decode(),
    }


def get(db: Statements, campaign: str) -> list[Winner]:
    """In the order in which they were put."""
    found = db.rows(
        """SELECT w.function, w.nprocs, w.ppn, w.bytes_from, w.bytes_to, w.variant, c.knobs,
                  w.search_speedup, w.speedup, w.speedup_low, w.speedup_high, w.removes,
                  w.restrictions, w.tried
           FROM winner w JOIN configuration c ON c.number = w.configuration
           WHERE w.campaign = :campaign ORDER BY w.position""",
        {"campaign": campaign},
    )
    winners = []
    for row in found:
        values = list(row)
        values[6] = configurations.knobs(row[6])
        values[11] = msgspec.json.decode(row[11], type=list[str])
        values[12] = msgspec.json.decode(row[12], type=list[str])
        values[13] = msgspec.json.decode(row[13], type=list[Tried])
        winners.append(Winner(*values))
    return winners


def speedups(db: Statements, campaign: str) -> dict[str, list[float]]:
    """By function, those of its winners; functions by name."""
    found: dict[str, list[float]] = {}
    for function, speedup in db.rows(
        "SELECT function, speedup FROM winner WHERE campaign = :campaign ORDER BY function",
        {"campaign": campaign},
    ):
        found.setdefault(function, []).append(speedup)
    return found
