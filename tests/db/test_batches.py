"""Batches: which campaigns were asked for together."""

from __future__ import annotations

import msgspec
import pytest

from plumbline_db import campaigns
from plumbline_db.connection import Database
from tests.db import build

NOON = "2026-11-21T12:00:00+00:00"
LATER = "2026-11-21T12:00:01+00:00"


def test_members_keep_their_order_and_are_replaced(db: Database) -> None:
    names = ["a", "b", "c"]
    build.started(db)
    for name in names:
        campaigns.put(db, msgspec.structs.replace(build.CAMPAIGN, id=name, key=f"{name}-1"))
    campaigns.put_batch(db, "/x.toml", ["c", "a"], NOON)
    assert [one.id for one in campaigns.get_batch(db, "/x.toml")] == ["c", "a"]
    assert campaigns.of(db, "a") == "/x.toml" and campaigns.of(db, "b") is None
    campaigns.put_batch(db, "/x.toml", ["b"], NOON)
    assert [one.id for one in campaigns.get_batch(db, "/x.toml")] == ["b"]
    assert campaigns.of(db, "a") is None
    assert campaigns.get_batch(db, "/y.toml") == []


def test_a_member_must_be_stored(db: Database) -> None:
    with pytest.raises(ValueError, match="campaign a is not stored"):
        campaigns.put_batch(db, "/x.toml", ["a"], NOON)


def test_a_campaign_of_several_files_is_that_of_the_file_run_last(db: Database) -> None:
    build.started(db)
    campaigns.put(db, msgspec.structs.replace(build.CAMPAIGN, id="a", key="a-1"))
    campaigns.put_batch(db, "/z.toml", ["a"], NOON)
    campaigns.put_batch(db, "/x.toml", ["a"], LATER)
    assert campaigns.of(db, "a") == "/x.toml"
    campaigns.put_batch(db, "/z.toml", ["a"], LATER.replace("01+", "02+"))
    assert campaigns.of(db, "a") == "/z.toml"
