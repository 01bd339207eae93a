"""Suites: launches of one purpose in one environment, and what was measured in turn with what."""

from __future__ import annotations

import msgspec

from plumbline_db import columns
from plumbline_db.records import BESIDE, Suite
from plumbline_db.statements import Statements


def number(db: Statements, campaign: str, suite: Suite) -> int:
    """Return the number of its row, which is made where there is none, inside the caller's
    transaction. Raises ValueError where another suite has its name."""
    key = {"campaign": campaign, "name": suite.name}
    columns.put(db, "suite", suite, "ON CONFLICT DO NOTHING", **key)
    where = "WHERE campaign = :campaign AND name = :name"
    ((number, stored_suite),) = columns.numbered(db, "suite", Suite, where, key)
    if stored_suite != suite:
        raise ValueError(f"suite {suite.name} of campaign {campaign} is another one")
    return number


def get(db: Statements, campaign: str) -> dict[str, Suite]:
    """Return those of a campaign by name, in the order in which they were begun."""
    where = "WHERE campaign = :campaign ORDER BY number"
    stored_suites = columns.all_of(db, "suite", Suite, where, {"campaign": campaign})
    return {suite.name: suite for suite in stored_suites}


def in_turn(db: Statements, campaign: str, name: str) -> list[tuple[str, str]]:
    """Names of the suites of the same stage and round as `name` that took turns with the library as
    it is, each with that of the latter."""
    every = get(db, campaign)
    of = every[name]
    pairs = [
        (msgspec.structs.replace(suite, arm="").name, suite.name)
        for suite in every.values()
        if suite.arm == BESIDE
        and (suite.stage, suite.round, suite.parted) == (of.stage, of.round, of.parted)
    ]
    return [(own_name, beside) for own_name, beside in pairs if own_name in every]
