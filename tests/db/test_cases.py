"""Samples by case number, and campaign rows of other commands."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign, Failure
from tests.db import build
from tests.db.build import Timed

CAMPAIGN = build.CAMPAIGN.id


def test_a_case_that_stands_twice_is_told_apart(started: Database) -> None:
    run = build.run("effects", 3)
    records = build.records(run, [Timed(), Timed(), Timed(outcome="wrong")], blocks=3)
    runs.put(started, run, records)
    found = runs.by_case(started, CAMPAIGN, "effects", 3)
    assert sorted(found) == [0, 1]
    for number in found:
        wanted = [one.ns for one in build.by_block(records) if one.case == number]
        assert [block.tolist() for block in found[number]] == wanted
    assert not np.array_equal(np.concatenate(found[0]), np.concatenate(found[1]))


def test_nothing_of_launches_that_failed_or_are_not_there(started: Database) -> None:
    failed = msgspec.structs.replace(build.run("effects", 1), failure=Failure("ended", "killed"))
    runs.put(started, failed, build.records(failed, [Timed()]))
    assert runs.by_case(started, CAMPAIGN, "effects", 1) == {}
    assert runs.by_case(started, CAMPAIGN, "effects", 2) == {}
    assert runs.by_case(started, "elsewhere", "effects", 1) == {}


def other(number: int) -> Campaign:
    return msgspec.structs.replace(
        build.CAMPAIGN, id=f"r{number}", key=f"k{number}", settings='{"command":"reproducibility"}'
    )


def test_rows_of_other_commands_are_not_campaigns(started: Database) -> None:
    """What looks for the last campaign must not find them."""
    campaigns.put(started, other(1))
    assert [one.id for one in campaigns.all_campaigns(started)] == [CAMPAIGN]
    assert [one.id for one in campaigns.every(started)] == [CAMPAIGN, "r1"]
    assert campaigns.get(started, None).id == CAMPAIGN
    with pytest.raises(PlumblineError, match=f"no campaign r1; it contains: {CAMPAIGN}"):
        campaigns.get(started, "r1")


def test_settings_that_are_no_json_are_a_campaign(db: Database) -> None:
    build.started(db, msgspec.structs.replace(build.CAMPAIGN, settings="by hand"))
    assert [one.id for one in campaigns.all_campaigns(db)] == [CAMPAIGN]
