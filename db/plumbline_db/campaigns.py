"""Campaigns: what was asked for, on which machine and library, and whether it is done.

Launches of other commands need a campaign to belong to as well. The settings of such a row have a
key `command`, and only `every` shows it."""

from __future__ import annotations

from typing import Any

import msgspec

from plumbline_db import columns, coverage_renewal, layout
from plumbline_db.errors import PlumblineError
from plumbline_db.layout import FOREIGN, OVERLAP_TUNE, SUITES
from plumbline_db.records import Campaign
from plumbline_db.statements import Statements

_SELECT = columns.select("campaign", Campaign)


def put(db: Statements, campaign: Campaign) -> None:
    """Insert, or update `state` and `finished`; of the rest only `settle` changes anything.

    Raises ValueError when the id is stored with other facts, or the machine or library is not
    stored."""
    with db.transaction():
        row = db.row(_SELECT + "WHERE id = :id OR key = :key", columns.values(campaign))
        if row is None:
            _require_parents(db, campaign)
            db.rows(columns.insert("campaign", Campaign), columns.values(campaign))
            return
        stored = _record(row)
        renewed = msgspec.structs.replace(stored, state=campaign.state, finished=campaign.finished)
        if renewed != campaign:
            raise ValueError(f"campaign {campaign.id} is stored with other facts: {stored}")
        db.rows(
            "UPDATE campaign SET state = :state, finished = :finished WHERE id = :id",
            {"state": campaign.state, "finished": campaign.finished, "id": campaign.id},
        )
        coverage_renewal.renew(db, campaign.id)


def settle(db: Statements, id: str, settings: str) -> Campaign:
    """With other settings, which must differ in nothing that a measurement depends on."""
    with db.transaction():
        require(db, id)
        db.rows(
            "UPDATE campaign SET settings = :settings WHERE id = :id",
            {"settings": settings, "id": id},
        )
        coverage_renewal.renew(db, id)
        row = db.row(_SELECT + "WHERE id = :id", {"id": id})
    assert row is not None  # noqa: S101 - it is required
    return _record(row)


def reopen(db: Statements, id: str) -> None:
    """It is under way again: what was concluded from its launches goes, and what is exported stays
    until it is written anew. Raises PlumblineError where samples were thrown away, without which
    nothing can be concluded."""
    key = {"id": id}
    with db.transaction():
        require(db, id)
        if db.row("SELECT 1 FROM pruned WHERE campaign = :id", key):
            raise PlumblineError(
                f"campaign {id} cannot go on: its samples were thrown away (plumbline db prune); "
                "--new begins another one"
            )
        db.rows("UPDATE campaign SET state = 'running', finished = '' WHERE id = :id", key)
        of = "SELECT number FROM search WHERE campaign = :id"
        db.rows(f"DELETE FROM trial WHERE search IN ({of})", key)  # noqa: S608
        for table in ("search", "verdict"):
            db.rows(f"DELETE FROM {table} WHERE campaign = :id", key)  # noqa: S608
        db.rows("DELETE FROM event WHERE campaign = :id AND run = ''", key)
        coverage_renewal.renew(db, id)


# Rows of `plumbline campaign` and `plumbline verify`.
_COMMAND = "CASE WHEN json_valid(settings) THEN json_extract(settings, '$.command') END "
_LOOPS = _COMMAND + "IS NULL "


_FROM = ": "  # between a host and the key that a campaign has there
_OWN = f"instr(key, '{_FROM}') = 0 "


def key_from(host: str, key: str) -> str:
    """Of a campaign that came from there: what is measured here never goes on with it."""
    return f"{host}{_FROM}{key}"


def get(db: Statements, id: str | None) -> Campaign:
    """The campaign `id`, or what `plumbline overlap tune` has left under that name; None means the
    campaign that was started last, of those measured here where there are any."""
    if id is None:
        row = db.row(_SELECT + f"WHERE {_LOOPS} ORDER BY {_OWN} DESC, number DESC LIMIT 1")
        if row is None:
            raise PlumblineError(f"{db.path} holds no campaign: run `plumbline campaign` first")
        return _record(row)
    campaign = known(db, id)
    if campaign is None:
        listed = ", ".join(each.id for each in all_campaigns(db)) or "none"
        raise PlumblineError(f"{db.path} holds no campaign {id}; it holds: {listed}")
    return campaign


def known(db: Statements, id: str) -> Campaign | None:
    """The same by its id, or what another program has printed; None where there is none."""
    condition = f"WHERE id = :id AND ({_LOOPS} OR {_COMMAND} IN (:tune, :suites, :foreign))"
    commands = {"tune": OVERLAP_TUNE, "suites": SUITES, "foreign": FOREIGN}
    row = db.row(_SELECT + condition, {"id": id} | commands)
    return None if row is None else _record(row)


def all_campaigns(db: Statements) -> list[Campaign]:
    """In the order in which they were started."""
    return [_record(row) for row in db.rows(_SELECT + f"WHERE {_LOOPS} ORDER BY number")]


def with_winners(db: Statements) -> list[Campaign]:
    """The finished ones of this site that have winners, in the order in which they were
    finished."""
    has_winners = "EXISTS (SELECT 1 FROM winner WHERE winner.campaign = campaign.id) "
    found = db.rows(
        _SELECT + f"WHERE {_LOOPS} AND {_OWN} AND state = 'finished' AND {has_winners} "
        "ORDER BY finished, number"
    )
    return [_record(row) for row in found]


def verifies_only(campaign: Campaign) -> bool:
    """It was asked to search nothing (`plumbline verify`): its last table is its first."""
    return layout.verifies_only(campaign.settings)


def tuned_overlap(db: Statements) -> list[Campaign]:
    """Those of `plumbline overlap tune`, in the order in which they were started."""
    found = db.rows(_SELECT + f"WHERE {_COMMAND} = :tune ORDER BY number", {"tune": OVERLAP_TUNE})
    return [_record(row) for row in found]


def foreign(db: Statements) -> list[Campaign]:
    """What other programs have printed, in the order in which it was imported."""
    found = db.rows(_SELECT + f"WHERE {_COMMAND} = :foreign ORDER BY number", {"foreign": FOREIGN})
    return [_record(row) for row in found]


def of_suites(db: Statements) -> list[Campaign]:
    """Runs of `plumbline suite`, in the order in which they were started."""
    found = db.rows(_SELECT + f"WHERE {_COMMAND} = :suites ORDER BY number", {"suites": SUITES})
    return [_record(row) for row in found]


def every(db: Statements) -> list[Campaign]:
    """Those of all commands, in the order in which they were started."""
    return [_record(row) for row in db.rows(_SELECT + "ORDER BY number")]


def require(db: Statements, id: str) -> None:
    """ValueError when there is no such campaign: whoever writes for it has not stored it."""
    if db.row("SELECT 1 FROM campaign WHERE id = :id", {"id": id}) is None:
        raise ValueError(f"campaign {id} is not stored in {db.path}")


def _require_parents(db: Statements, campaign: Campaign) -> None:
    for table, column, value in (
        ("machine", "id", campaign.machine),
        ("library", "fingerprint", campaign.library_fingerprint),
    ):
        if db.row(f"SELECT 1 FROM {table} WHERE {column} = :v", {"v": value}) is None:  # noqa: S608
            raise ValueError(f"campaign {campaign.id}: {table} {value} is not stored")


def _record(row: tuple[Any, ...]) -> Campaign:
    return columns.read(Campaign, row)
