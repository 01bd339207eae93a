"""Batches: which campaigns were asked for together."""

from __future__ import annotations

import msgspec
import pytest

from plumbline_db import batches, campaigns
from plumbline_db.connection import Database
from tests.db import build


def test_members_keep_their_order_and_are_replaced(db: Database) -> None:
    names = ["a", "b", "c"]
    build.started(db)
    for name in names:
        campaigns.put(db, msgspec.structs.replace(build.CAMPAIGN, id=name, key=f"{name}-1"))
    batches.put(db, "/x.toml", ["c", "a"])
    assert [one.id for one in batches.get(db, "/x.toml")] == ["c", "a"]
    assert batches.of(db, "a") == "/x.toml" and batches.of(db, "b") is None
    batches.put(db, "/x.toml", ["b"])
    assert [one.id for one in batches.get(db, "/x.toml")] == ["b"]
    assert batches.of(db, "a") is None
    assert batches.get(db, "/y.toml") == []


def test_a_member_must_be_stored(db: Database) -> None:
    with pytest.raises(ValueError, match="campaign a is not stored"):
        batches.put(db, "/x.toml", ["a"])
