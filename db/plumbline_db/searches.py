"""Searches and their trials: what was tried for a cell, and why it stopped."""

from __future__ import annotations

import msgspec

from plumbline_db import campaigns, columns, configurations
from plumbline_db.records import Search, Trial
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, search: Search) -> None:
    """Store a search; one for the same cell in the same round is replaced."""
    with db.transaction():
        campaigns.require(db, campaign)
        number = columns.put_row(
            db,
            "search",
            columns.values(search, "trials") | {"campaign": campaign},
            "ON CONFLICT (campaign, round, function, nprocs, ppn, bytes) DO UPDATE SET "
            + f"{columns.renewed(Search, 'trials')} RETURNING number",
        )
        db.rows("DELETE FROM trial WHERE search = :search", {"search": number})
        columns.put_rows(
            db,
            "trial",
            [
                columns.values(trial, "knobs")
                | {"search": number, "position": position}
                | {"configuration": configurations.number(db, trial.knobs)}
                for position, trial in enumerate(search.trials)
            ],
        )


def all_searches(db: Statements, campaign: str) -> list[Search]:
    """Return them by round, then in the order in which they were first stored."""
    trials: dict[int, list[Trial]] = {}
    for search, *row in db.rows(
        """SELECT t.search, t.variant, c.knobs, t.state, t.ratio, t.ratio_low, t.ratio_high,
                  t.launches, t.detail
           FROM trial t JOIN search s ON s.number = t.search
           JOIN configuration c ON c.number = t.configuration
           WHERE s.campaign = :campaign ORDER BY t.search, t.position""",
        {"campaign": campaign},
    ):
        trials.setdefault(search, []).append(columns.read(Trial, row))
    # Trials are stored in rows of their own.
    names = columns.names(Search).replace("trials", "'[]'")
    search_rows = db.rows(
        f"SELECT number, {names} FROM search WHERE campaign = :campaign ORDER BY round, number",  # noqa: S608
        {"campaign": campaign},
    )
    return [
        msgspec.structs.replace(columns.read(Search, row), trials=trials.get(number, []))
        for number, *row in search_rows
    ]
