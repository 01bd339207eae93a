"""Whose winners are used where several campaigns have some."""

from __future__ import annotations

import msgspec
import pytest

from plumbline import libraries
from plumbline.settings import default_campaign
from plumbline.settings.default_campaign import choose, preferred
from plumbline_db import campaigns, findings, machines
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign
from tests.db import build
from tests.tuner import simulated

OTHER = msgspec.structs.replace(build.LIBRARY, id="mpich-5.0", fingerprint="mpich")


def with_winners(db: Database, id: str, day: int, **changes: object) -> Campaign:
    machines.put_library(db, OTHER)
    made = build.later(db, id, day, **changes)
    findings.put_winners(db, id, [build.winner()])
    return made


def test_of_the_library_that_is_here(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    here = simulated.toolchain()
    monkeypatch.setattr(libraries, "find", lambda *_: (here.family, here.installation))
    with_winners(db, "ours", 1)
    with_winners(db, "theirs", 2, library_fingerprint=OTHER.fingerprint)
    choice = choose(db, None)
    assert choice.campaign.id == "ours"
    assert "theirs, finished 2025-03-02T10:01:00Z (1 winner for 4 ranks)" in choice.note
    assert choose(db, "theirs") == default_campaign.CampaignChoice(campaigns.get(db, "theirs"))


def test_no_library_is_here(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks says that none fits."""

    def find(*_: object) -> None:
        raise PlumblineError("no supported MPI library found on PATH")

    monkeypatch.setattr(libraries, "find", find)
    with_winners(db, "ours", 1)
    with_winners(db, "theirs", 2, library_fingerprint=OTHER.fingerprint)
    assert choose(db, None).campaign.id == "theirs"


def test_of_this_machine(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_campaign, "this_machine", lambda: build.MACHINE)
    other = msgspec.structs.replace(build.MACHINE, id="m-other")
    machines.put_machine(db, other)
    with_winners(db, "ours", 1)
    with_winners(db, "theirs", 2, machine=other.id)
    assert choose(db, None).campaign.id == "ours"
    monkeypatch.setattr(default_campaign, "this_machine", lambda: OTHER)
    assert choose(db, None).campaign.id == "theirs"


def test_the_one_finished_last_not_the_one_started_last(db: Database) -> None:
    with_winners(db, "first", 1, finished="2025-04-01T00:00:00Z")
    with_winners(db, "second", 2)
    assert choose(db, None).campaign.id == "first"
    assert [one.id for one in campaigns.with_winners(db)] == ["second", "first"]


def test_one_alone_needs_no_words(db: Database) -> None:
    with_winners(db, "first", 1)
    assert choose(db, None).note == ""


def test_without_winners_the_last_finished_one_then_the_last_one(db: Database) -> None:
    with pytest.raises(PlumblineError, match="contains no campaign"):
        choose(db, None)
    build.later(db, "begun", 1, state="running", finished="")
    assert choose(db, None).campaign.id == "begun"
    build.later(db, "ended", 2)
    build.later(db, "more", 3, state="running", finished="")
    assert choose(db, None).campaign.id == "ended"


def test_preferred_is_never_nothing() -> None:
    assert preferred([build.CAMPAIGN], lambda _: False) == build.CAMPAIGN
