"""A campaign that is asked for again with other limits goes on with what is there; which keys make
another one, and what a campaign does next."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from plumbline.campaign import loop
from plumbline.campaign.going_on import GoingOn, go_on
from plumbline.core.cell import Target
from plumbline.measure.exclusions import LIMIT, NO_TIME
from plumbline.measure.launches import LaunchStore
from plumbline.search.budget import Budget
from plumbline.settings import Settings, identity
from plumbline.settings.campaign_file import load
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Campaign, Failure, Run
from tests.tuner import planted
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, Interrupted, SimulatedStarter, failed, toolchain

FEW: dict[str, Any] = {"guidelines": ["GL12", "GL13"], "sizes": [4096, 16384], "settings": False}


def settings(**changes: Any) -> Settings:
    return planted.settings(**FEW | changes)


def asked(db: Database, folder: Path, starter: SimulatedStarter, wanted: Settings) -> Campaign:
    """As the command does it."""
    going = begun(db, starter, wanted)
    if going.campaign.state == "finished":
        return going.campaign
    store = LaunchStore(db, going.campaign.id, starter)
    within, earlier = going.settings, going.earlier
    return loop.CampaignLoop(
        store, toolchain(), going.campaign, within, folder, earlier=earlier
    ).run()


def begun(db: Database, starter: SimulatedStarter, wanted: Settings) -> GoingOn:
    there = identity.begin(db, toolchain(), wanted, new=False)
    return go_on(db, there, wanted)


def own(db: Database, campaign: Campaign) -> list[Run]:
    found, known = runs.listing(db, campaign.id), runs.suites(db, campaign.id)
    return [one for one in found if not known[one.suite].parted]


def places(db: Database, campaign: Campaign) -> list[tuple[str, int, str]]:
    return [(one.suite, one.sequence, one.plan) for one in own(db, campaign)]


@pytest.fixture(scope="module")
def from_the_start(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int, str]]:
    """The launches of a campaign that had all the time from its beginning."""
    folder = tmp_path_factory.mktemp("fresh")
    with Database.open(folder / "plumbline.db", write=True) as db:
        return places(db, asked(db, folder, machine(), settings(budget_seconds=1000.0)))


def machine(**more: Any) -> SimulatedStarter:
    return SimulatedStarter(planted.costs(), **more)


def test_a_budget_that_rises_goes_on_with_what_is_there(
    tmp_path: Path, db: Database, from_the_start: list[tuple[str, int, str]]
) -> None:
    """What it comes to is what it would have been with that budget from the start."""
    short = asked(db, tmp_path, machine(), settings(budget_seconds=5.0))
    before = own(db, short)
    assert short.state == "finished" and not findings.all_searches(db, short.id)
    starter = machine()
    longer = asked(db, tmp_path, starter, settings(budget_seconds=1000.0))
    assert (longer.id, longer.state) == (short.id, "finished")
    assert own(db, longer)[: len(before)] == before
    assert all(suite.partition("-")[0] != "before" for suite, _ in starter.launches)
    assert findings.get_verdicts(db, longer.id, "after") and findings.all_searches(db, longer.id)
    assert places(db, longer) == from_the_start
    # Again, with less, and with none that is named: nothing is done anew.
    for less in ({"budget_seconds": 7.0}, {"budget_seconds": 1000.0}):
        again = asked(db, tmp_path, machine(stop_after=0), settings(**less))
        assert again == longer


def test_what_the_budget_leaves_over_is_said_with_what_it_would_take(
    tmp_path: Path, db: Database
) -> None:
    """With the budget that is named the cells are searched."""

    def said(campaign: Campaign) -> list[str]:
        return [event.text for event in campaigns.events(db, campaign.id) if event.kind == NO_TIME]

    short = asked(db, tmp_path, machine(), planted.settings(budget_seconds=40.0, settings=False))
    (text,) = said(short)
    found = re.fullmatch(
        r"(\d+) cells not searched: MPI_.*; about \d+ s of launches; "
        r"--budget (\d+) goes on from here",
        text,
    )
    assert found is not None
    searched = len(findings.all_searches(db, short.id))
    wanted = planted.settings(budget_seconds=float(found[2]), settings=False)
    longer = asked(db, tmp_path, machine(), wanted)
    assert said(longer) == []
    assert len(findings.all_searches(db, longer.id)) >= searched + int(found[1])


@pytest.mark.parametrize("kept", [0, 3])
def test_interrupted_on_the_other_way_it_goes_on_there(
    tmp_path: Path, db: Database, from_the_start: list[tuple[str, int, str]], kept: int
) -> None:
    """31 seconds see the table and some of the search; the rest was decided upon without more time,
    and stays under another name."""
    first = asked(db, tmp_path, machine(), settings(budget_seconds=31.0))
    done = own(db, first)
    assert any(one.suite.startswith("confirm") for one in done)
    wanted = settings(budget_seconds=1000.0)
    with pytest.raises(Interrupted):
        asked(db, tmp_path, machine(stop_after=kept), wanted)
    found = asked(db, tmp_path, machine(), wanted)
    assert found.id == first.id
    assert places(db, found) == from_the_start
    parted = {one.suite for one in runs.listing(db, found.id)} - {
        one.suite for one in own(db, found)
    }
    assert all(name.startswith("parted-1-") for name in parted) and parted


def test_what_a_time_out_has_ended_is_launched_again(tmp_path: Path, db: Database) -> None:
    class Slow(SimulatedStarter):
        """Launches that end when their time is up, from the fourth on."""

        def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
            if run.sequence < 3:
                return run, records
            return failed(run, Failure("too long", "not at its end after 120 s, but going on"))

    with pytest.raises(Interrupted):
        asked(db, tmp_path, Slow(planted.costs(), stop_after=5), settings())
    (there,) = campaigns.all_campaigns(db)
    assert [one.finished for one in own(db, there)] == [True] * 3 + [False] * 2
    going = begun(db, machine(), settings(launch_timeout_seconds=60.0))
    assert going.settings.sampling.launch_timeout_seconds == 120.0 and len(own(db, there)) == 5
    found = asked(db, tmp_path, machine(), settings(launch_timeout_seconds=600.0))
    assert found.id == there.id and "600" in found.settings
    assert all(one.finished for one in own(db, found))
    assert [one.sequence for one in own(db, found)][:5] == [0, 1, 2, 3, 4]


# --- the usual budget -----------------------------------------------------------------------------


def test_the_usual_limit_follows_what_launches_cost(lab: Lab, db: Database) -> None:
    """It is one for all launches: what is found by a search has to be confirmed within it."""
    for place, least in (({}, 150.0), ({"simulate": "ompi"}, 900.0)):
        store = lab.store(SimulatedStarter(Costs()))
        budget = Budget(store, load(None, {"nprocs": 4} | place))
        store.spent_seconds = 10.0
        budget.measured()
        store.spent_seconds = least - 16
        assert budget.left()
        store.spent_seconds = least - 15
        assert not budget.left() and budget.is_open()
        budget.confirmed(least - 25)
        assert budget.left()
        store.spent_seconds = least
        assert not budget.is_open()
    # Nine launches of a minute: a table of 540 s.
    budget = Budget(store, load(None, {"nprocs": 4}))
    store.spent_seconds = 540.0
    assert budget.is_open()
    budget.measured()
    store.spent_seconds = 10.5 * 540.0 - 1
    assert budget.left()
    store.spent_seconds = 10.5 * 540.0
    assert not budget.left()
    named = Budget(store, load(None, {"nprocs": 4, "budget_seconds": 600.0}))
    named.measured()
    assert not named.left() and not named.is_open()
    (event,) = campaigns.events(db, lab.campaign.id)
    assert (event.kind, event.text.split(",")[0]) == (LIMIT, "6480 s")


def test_a_round_for_few_cells_that_violate_nothing_is_not_worth_its_launches(lab: Lab) -> None:
    """A violated cell is, and so is a twentieth of all cells, and anything within a limit that
    somebody has named; what is left names the limit by which it is searched."""
    store = lab.store(SimulatedStarter(Costs()))
    usual = Budget(store, load(None, {"nprocs": 4}))
    named = Budget(store, load(None, {"nprocs": 4, "budget_seconds": 150.0}))
    store.spent_seconds = 30.0
    for budget in (usual, named):
        budget.measured()
        budget.searched(100, begun=20.0)
        budget.confirmed(25.0)
    assert usual.has_room(1)
    assert not usual.has_room_for_others(9, 200) and usual.has_room_for_others(10, 200)
    assert named.has_room_for_others(1, 200)
    cell = [Target("MPI_Bcast", 8)]
    assert usual.not_searched(cell, named=True).endswith("--budget 41 goes on from here")
    assert usual.not_searched(cell, named=False).endswith("--budget 81 goes on from here")


def test_dear_launches_do_not_keep_a_campaign_from_searching(tmp_path: Path, db: Database) -> None:
    """Twenty seconds a launch: the table alone takes more than was the budget."""
    usual = settings().but(budget_seconds=None)
    finished = asked(db, tmp_path, machine(seconds=20.0), usual)
    assert findings.all_searches(db, finished.id)
    assert not any(
        one.verdict == "violated" for one in findings.get_verdicts(db, finished.id, "after")
    )
