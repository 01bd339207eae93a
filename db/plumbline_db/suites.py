"""Suites: launches of one purpose in one environment, and what was measured in turn with what."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db.records import BESIDE, Suite
from plumbline_db.statements import Statements

_FIELDS = ", ".join(Suite.__struct_fields__)
_VALUES = ", ".join(f":{name}" for name in Suite.__struct_fields__)


def number(db: Statements, campaign: str, suite: Suite) -> int:
    """Of its row, which is made where there is none, inside the caller's transaction. Raises
    ValueError where another suite has its name."""
    values: dict[str, Any] = msgspec.structs.asdict(suite)
    values |= {"campaign": campaign, "name": suite.name}
    db.rows(
        f"""INSERT INTO suite (campaign, name, {_FIELDS}) VALUES (:campaign, :name, {_VALUES})
            ON CONFLICT DO NOTHING""",  # noqa: S608
        values,
    )
    ((found, *fields),) = db.rows(
        f"SELECT number, {_FIELDS} FROM suite WHERE campaign = :campaign AND name = :name",  # noqa: S608
        values,
    )
    if Suite(*fields) != suite:
        raise ValueError(f"suite {suite.name} of campaign {campaign} is another one")
    return int(found)


def get(db: Statements, campaign: str) -> dict[str, Suite]:
    """Those of a campaign by name, in the order in which they were begun."""
    found = db.rows(
        f"SELECT name, {_FIELDS} FROM suite WHERE campaign = :campaign ORDER BY number",  # noqa: S608
        {"campaign": campaign},
    )
    return {name: Suite(*fields) for name, *fields in found}


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
    return [(ours, beside) for ours, beside in pairs if ours in every]
