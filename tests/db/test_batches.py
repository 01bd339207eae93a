"""Batches: which campaigns were asked for together."""

from __future__ import annotations

import msgspec
import pytest

from plumbline_db import batches, campaigns
from plumbline_db.connection import Database
from tests.db import build

NOON = "2026-11-21T12:00:00+00:00"
LATER = "2026-11-21T12:00:01+00:00"


def test_members_keep_their_order_and_are_replaced(db: Database) -> None:
    names = ["a", "b", "c"]
    build.started(db)
    for name in names:
        campaigns.put(db, msgspec.structs.replace(build.CAMPAIGN, id=name, key=f"{name}-1"))
    batches.put(db, "/x.toml", ["c", "a"], NOON)
    assert [one.id for one in batches.get(db, "/x.toml")] == ["c", "a"]
    assert batches.of(db, "a") == "/x.toml" and batches.of(db, "b") is None
    batches.put(db, "/x.toml", ["b"], NOON)
    assert [one.id for one in batches.get(db, "/x.toml")] == ["b"]
    assert batches.of(db, "a") is None
    assert batches.get(db, "/y.toml") == []


def test_a_member_must_be_stored(db: Database) -> None:
    with pytest.raises(ValueError, match="campaign a is not stored"):
        batches.put(db, "/x.toml", ["a"], NOON)


def test_a_campaign_of_several_files_is_that_of_the_file_run_last(db: Database) -> None:
    build.started(db)
    campaigns.put(db, msgspec.structs.replace(build.CAMPAIGN, id="a", key="a-1"))
    batches.put(db, "/z.toml", ["a"], NOON)
    batches.put(db, "/x.toml", ["a"], LATER)
    assert batches.of(db, "a") == "/x.toml"
    batches.put(db, "/z.toml", ["a"], LATER.replace("01+", "02+"))
    assert batches.of(db, "a") == "/z.toml"
