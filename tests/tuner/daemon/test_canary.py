"""Canaries: their cells and launches, the database and the detector, and what has changed since."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.daemon import canary
from plumbline.daemon.configuration import CanaryTable
from plumbline.watch.chart import CellState
from plumbline_db import campaigns, cost, findings, integrity, runs, watching
from plumbline_db.errors import PlumblineError
from plumbline_db.records import CANARY, Suite
from tests.tuner.daemon.watching import Site, slower
from tests.tuner.simulated import Interrupted, failed

REGRESSION = {("MPI_Allreduce", 65536): 1.3}


def test_the_first_canary_begins_to_learn(site: Site) -> None:
    before = cost.cost(site.db, site.campaign.id)
    found = site.canary()
    assert (found.outcome, found.launches, found.alarms, found.round) == ("judged", 2, 0, 1)
    cells = watching.cells(site.db, site.campaign.id)
    roles = [cell.role for cell in cells]
    assert found.cells == len(cells) and found.reference_cells == roles.count("reference") == 10
    assert roles.count("winner") > 0
    assert ("MPI_Gather", 4096, "violation") in {
        (cell.function, cell.bytes, cell.role) for cell in cells
    }
    assert all(len(msgspec.json.decode(cell.state, type=CellState).learning) == 1 for cell in cells)
    assert found.detail == f"{len(cells)} cells still learning"
    assert found.node_seconds == pytest.approx(found.seconds) and found.seconds > 0
    # It is none of the campaign's own, and changes nothing of it.
    assert cost.cost(site.db, site.campaign.id) == before
    assert campaigns.get(site.db, site.campaign.id) == site.campaign
    assert runs.suites(site.db, site.campaign.id)["canary-1"] == Suite(CANARY, 1)
    assert integrity.problems(site.db) == []


def test_canaries_start_with_what_is_in_force(site: Site) -> None:
    site.canary()
    assert findings.get_winners(site.db, site.campaign.id)
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename" in site.starter.extra


def test_a_cell_that_becomes_slower_is_found(site: Site) -> None:
    learning = site.canaries(22)
    assert {one.outcome for one in learning} == {"judged"} and learning[-1].detail == ""
    assert watching.every(site.db) == []
    slower(site, REGRESSION)
    found = site.canaries(6)
    assert sum(one.alarms for one in found) >= 1
    ((_, alarm),) = watching.still_open(site.db, site.campaign.id)
    assert (alarm.function, alarm.bytes, alarm.direction) == ("MPI_Allreduce", 65536, "slower")
    assert alarm.largest == pytest.approx(1.3, rel=0.1) and alarm.state == "raised"
    by_name = {(one.function, one.bytes): one for one in watching.cells(site.db, site.campaign.id)}
    assert by_name["MPI_Allreduce", 65536].ratio == pytest.approx(1.3, rel=0.1)
    assert by_name["MPI_Gather", 4096].ratio == pytest.approx(1.0, rel=0.1)


def test_a_busy_machine_says_nothing(learned_site: Site) -> None:
    site = learned_site
    site.starter._case_noise = 0.5
    busy = site.canaries(6)
    assert {one.outcome for one in busy} == {"busy"}
    assert "times as much" in busy[0].detail
    assert watching.every(site.db) == []
    site.starter._case_noise = 0.01
    assert site.canary().outcome == "judged"
    (day, *_) = watching.days(site.db)
    assert sum(one.busy for one in watching.days(site.db)) == 6
    assert day.day == "2026-11-24"


def test_a_machine_that_stays_another_one_is_learnt_anew(learned_site: Site) -> None:
    site = learned_site
    site.starter._case_noise = 0.5
    busy = site.canaries(26)
    assert [one for one in busy if "learnt anew" in one.detail]
    assert site.canaries(3)[-1].outcome == "judged"


def test_a_canary_that_was_interrupted_goes_on(site: Site) -> None:
    site.canaries(3)
    site.starter._stop_after = len(site.starter.launches) + 1
    with pytest.raises(Interrupted):
        site.canary()
    number, left = watching.under_way(site.db, site.campaign.id)
    assert (left.round, left.outcome) == (4, "under way")
    kept = runs.listing(site.db, site.campaign.id, ["canary-4"])
    assert len(kept) == 1
    site.starter._stop_after = None
    found = site.canary()
    assert (found.round, found.due, found.outcome) == (4, left.due, "judged")
    assert runs.listing(site.db, site.campaign.id, ["canary-4"])[0] == kept[0]
    assert watching.under_way(site.db, site.campaign.id) is None
    assert watching.canaries(site.db)[-1] == (number, found)
    assert site.canary().round == 5


def test_a_canary_whose_launches_fail_says_so(site: Site) -> None:
    site.canary()
    site.starter._crashes = lambda *_: True
    found = site.canary()
    assert found.outcome == "failed" and "0 reference cases" in found.detail
    start = site.starter.start
    site.starter.start = lambda *args: failed(start(*args)[0])
    with pytest.raises(PlumblineError, match="no case is to blame"):
        site.canary()
    _, last = watching.canaries(site.db)[-1]
    assert last.outcome == "failed" and "no case is to blame" in last.detail
    site.starter.start, site.starter._crashes = start, lambda *_: False
    assert site.canary().outcome == "judged"


def test_other_promises_let_sums_begin_anew(learned_site: Site) -> None:
    site = learned_site
    table = CanaryTable(launches=2, learning=20, cells=40, references=12)
    site.configuration = msgspec.structs.replace(site.configuration, canary=table)
    assert site.canary().outcome == "judged"
    watched = watching.campaign(site.db, site.campaign.id)
    assert '"cells":52' in watched.design
    states = [
        msgspec.json.decode(cell.state, type=CellState)
        for cell in watching.cells(site.db, site.campaign.id)
    ]
    assert sum(state.baseline is not None for state in states) >= 20


def test_begin_watching_twice_is_once(site: Site) -> None:
    work = site.work()
    first = canary.begin_watching(work, site.facts(work))
    site.clock.sleep(hours=5)
    assert canary.begin_watching(site.work(), {}) == first
