"""Searches and their trials: what was tried for a cell, and why it stopped."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db import campaigns, columns, configurations, nan
from plumbline_db.records import Search, Trial
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, search: Search) -> None:
    """Store a search; one for the same cell in the same round is replaced."""
    for trial in search.trials:
        nan.refuse(trial, trial.ratio, trial.ratio_low, trial.ratio_high)
    nan.refuse(search, search.bound_ratio)
    with db.transaction():
        campaigns.require(db, campaign)
        ((number,),) = db.rows(
            columns.insert("search", Search, "campaign", but=["trials"])
            + "ON CONFLICT (campaign, round, function, nprocs, ppn, bytes) DO UPDATE SET "
            + f"{columns.renewed(Search, 'trials')} RETURNING number",
            columns.values(msgspec.structs.replace(search, trials=[])) | {"campaign": campaign},
        )
        db.rows("DELETE FROM trial WHERE search = :search", {"search": number})
        db.many(
            columns.insert("trial", Trial, "search", "position", "configuration", but=["knobs"]),
            [_values(db, int(number), position, t) for position, t in enumerate(search.trials)],
        )


def _values(db: Statements, search: int, position: int, trial: Trial) -> dict[str, Any]:
    values = msgspec.structs.asdict(trial)
    knobs = values.pop("knobs")
    values["configuration"] = configurations.number(db, knobs)
    return values | {"search": search, "position": position}


def all_searches(db: Statements, campaign: str) -> list[Search]:
    """By round, then in the order in which they were first stored."""
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
    # Trials are rows of their own.
    names = columns.names(Search).replace("trials", "'[]'")
    found = db.rows(
        f"SELECT number, {names} FROM search WHERE campaign = :campaign ORDER BY round, number",  # noqa: S608
        {"campaign": campaign},
    )
    return [
        msgspec.structs.replace(columns.read(Search, row), trials=trials.get(number, []))
        for number, *row in found
    ]
