"""Distinct knob sets, each stored once. The empty set is the library as it comes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from plumbline_db.statements import Statements


def number(db: Statements, knobs: Mapping[str, str]) -> int:
    """The row of this knob set, made when it is not there. Inside a transaction of the caller."""
    text = msgspec.json.encode(dict(sorted(knobs.items()))).decode()
    db.rows("INSERT INTO configuration (knobs) VALUES (:k) ON CONFLICT DO NOTHING", {"k": text})
    row = db.row("SELECT number FROM configuration WHERE knobs = :k", {"k": text})
    assert row is not None  # noqa: S101 - inserted just above
    return int(row[0])


def knobs(text: str) -> dict[str, str]:
    """A stored knob set."""
    return msgspec.json.decode(text, type=dict[str, str])
