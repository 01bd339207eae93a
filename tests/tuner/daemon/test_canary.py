"""Canaries: their cells and launches, the database and the detector, and what has changed since."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.daemon import canary, canary_launches, cells, fingerprint
from plumbline.daemon.cells import Cell, Chosen
from plumbline.daemon.configuration import CanaryTable
from plumbline.daemon.in_force import InForce
from plumbline.daemon.step import Step
from plumbline.daemon.watcher import Watcher
from plumbline.libraries import Knob
from plumbline.settings.site_rules import InForce as SiteRules
from plumbline.settings.toolchain import Variant
from plumbline.watch.state import CellState
from plumbline_db import alarms, campaigns, cost, integrity, runs, suites, watching, winners
from plumbline_db.errors import PlumblineError
from plumbline_db.records import CANARY, UNBOUNDED_BYTES, Suite
from plumbline_db.watch_records import Canary
from tests.db import build
from tests.exporters.bundles import tuned
from tests.tuner.daemon.watching import Site, slower
from tests.tuner.simulated import Interrupted, failed, toolchain

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
    assert suites.get(site.db, site.campaign.id)["canary-1"] == Suite(CANARY, 1)
    assert integrity.problems(site.db) == []


def test_canaries_start_with_what_is_in_force(site: Site) -> None:
    site.canary()
    assert winners.get(site.db, site.campaign.id)
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename" in site.starter.extra


def test_a_cell_that_becomes_slower_is_found(site: Site) -> None:
    learning = site.canaries(22)
    assert {one.outcome for one in learning} == {"judged"} and learning[-1].detail == ""
    assert alarms.every(site.db) == []
    slower(site, REGRESSION)
    found = site.canaries(6)
    assert sum(one.alarms for one in found) >= 1
    ((_, alarm),) = alarms.still_open(site.db, site.campaign.id)
    assert (alarm.function, alarm.bytes, alarm.direction) == ("MPI_Allreduce", 65536, "slower")
    assert alarm.largest == pytest.approx(1.3, rel=0.1) and alarm.state == "raised"
    by_name = {(one.function, one.bytes): one for one in watching.cells(site.db, site.campaign.id)}
    assert by_name["MPI_Allreduce", 65536].ratio == pytest.approx(1.3, rel=0.1)
    assert by_name["MPI_Gather", 4096].ratio == pytest.approx(1.0, rel=0.1)


def test_a_busy_machine_says_nothing(site: Site) -> None:
    site.canaries(22)
    site.starter._case_noise = 0.5
    busy = site.canaries(6)
    assert {one.outcome for one in busy} == {"busy"}
    assert "times as wide" in busy[0].detail
    assert alarms.every(site.db) == []
    site.starter._case_noise = 0.01
    assert site.canary().outcome == "judged"
    (day, *_) = watching.days(site.db)
    assert sum(one.busy for one in watching.days(site.db)) == 6
    assert day.day == "2026-11-24"


def test_a_machine_that_stays_another_one_is_learnt_anew(site: Site) -> None:
    site.canaries(22)
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


def test_other_promises_let_sums_begin_anew(site: Site) -> None:
    site.canaries(22)
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


# --- which cells are watched ----------------------------------------------------------------------


SIZES = {"MPI_Bcast": [64, 1024], "MPI_Reduce": [64, 1024]}
VARIANTS = [
    Variant(f"{name}_{kind}", f"MPI_{name.capitalize()}", kind, restrictions, "")
    for name in ("bcast", "reduce", "barrier", "scan")
    for kind in ("algorithm", "mockup", "naive")
    for restrictions in ([], ["commutative"])
]


def choose(most: int = 40, references: int = 10, **given: object) -> cells.Chosen:
    known = {"winners": [], "table": [], "weights": {}, "sizes": SIZES, "variants": VARIANTS}
    return cells.choose(**known | given, most=most, references=references)


def test_winners_come_first() -> None:
    winner = tuned("MPI_Bcast", "chain", 1024, UNBOUNDED_BYTES)
    verdict = build.verdict("after")
    found = choose(winners=[winner], table=[verdict], weights={("MPI_Scan", 8): 1.0})
    roles = list(found.roles.items())
    assert roles[0] == (Cell("MPI_Bcast", "default", 1024), "winner")
    assert roles[1] == (Cell(verdict.function, "default", verdict.bytes), "violation")
    assert roles[2] == (Cell("MPI_Scan", "default", 8), "application")
    assert [role for _, role in roles].count("table") == 3
    few = choose(2, winners=[winner], table=[verdict])
    assert [role for role in few.roles.values() if role != "reference"] == ["winner", "violation"]


def test_references_are_algorithms_that_take_anything() -> None:
    found = choose().references
    assert len(found) == 6  # Bcast, Reduce, Scan at two sizes
    assert all(cell.variant.endswith("_algorithm") for cell in found)
    assert not any(cell.function == "MPI_Barrier" for cell in found)
    first = found[:3]
    assert {cell.function for cell in first} == {"MPI_Bcast", "MPI_Reduce", "MPI_Scan"}
    assert {cell.bytes for cell in first} == {64, 1024}
    assert len(choose(references=3).references) == 3


# --- which launches have which cells --------------------------------------------------------------


QUIET, NOISY, REFERENCE = (
    Cell("MPI_Bcast", "default", 8),
    Cell("MPI_Scan", "default", 8),
    Cell("MPI_Bcast", "ours", 8),
)
CHOICE = Chosen({QUIET: "winner", NOISY: "table", REFERENCE: "reference"})


def test_later_launches_have_noisy_cells_and_references_alone() -> None:
    canary = Canary("c", 7, CANARY, "", "")
    first, second = canary_launches.parts(canary, CHOICE, {QUIET: 2, NOISY: 8, REFERENCE: 2})
    assert (first.suite, first.before, first.launches) == (Suite(CANARY, 7), 0, 2)
    assert first.cells == [QUIET, NOISY, REFERENCE]
    assert (second.suite, second.before, second.launches) == (Suite(CANARY, 7, look=2), 2, 6)
    assert second.cells == [NOISY, REFERENCE]


def test_a_noisy_machine_gets_more_launches_and_a_kill_between_loses_none(site: Site) -> None:
    site.changed(canary={"launches_max": 8})
    site.starter._case_noise = 0.04
    assert {one.launches for one in site.canaries(20)} == {2}
    whole = site.canary()
    assert (whole.outcome, whole.launches) == ("judged", 8)
    begun = len(site.starter.launches)
    site.starter._stop_after = begun + 4
    with pytest.raises(Interrupted):
        site.canary()
    site.starter._stop_after = None
    whole = site.canary()
    assert (whole.round, whole.outcome, whole.launches) == (22, "judged", 8)
    assert len(site.starter.launches) == begun + 8
    listed = runs.listing(site.db, site.campaign.id)
    named = {run.suite for run in listed if run.suite.startswith("canary-22")}
    assert "canary-22" in named and len(named) > 1
    states = [
        msgspec.json.decode(one.state, type=CellState)
        for one in watching.cells(site.db, site.campaign.id)
    ]
    assert max(state.launches for state in states) == 8


# --- what has changed since -----------------------------------------------------------------------


OURS = InForce("generation 3 of openmpi", 3, "/g/3", {"/g/3/rules": "00"}, [], {"a_knob": "1"})


def facts(**changes: object) -> dict[str, str]:
    given = {
        "machine": build.MACHINE,
        "library": build.LIBRARY,
        "knobs": {},
        "site": None,
        "in_force": OURS,
    }
    return fingerprint.facts(**given | changes)


def test_each_change_is_said_by_name() -> None:
    kernel = msgspec.structs.replace(build.MACHINE, kernel="6.1.0-19-amd64")
    (change,) = fingerprint.changes(facts(), facts(machine=kernel))
    assert change.text == "kernel: 6.1.0-18-amd64, now 6.1.0-19-amd64" and change.makes_stale
    library = msgspec.structs.replace(build.LIBRARY, fingerprint="other")
    (change,) = fingerprint.changes(facts(), facts(library=library))
    assert "openmpi-4.1.4 (other)" in change.text and change.makes_stale
    assert fingerprint.changes(facts(), facts()) == []


def test_settings_of_the_site_are_those_of_others() -> None:
    knobs = {
        "a_knob": Knob("a_knob", "1", "int", True, {}, "file (x)"),
        "btl": Knob("btl", "tcp", "string", True, {}, "file (/etc/y)"),
        "unset": Knob("unset", "0", "int", True, {}),
    }
    (change,) = fingerprint.changes(facts(), facts(knobs=knobs))
    assert change.text == "settings of the site: nothing, now btl = tcp"
    assert not change.makes_stale
    rules = SiteRules(Path("/etc/rules"), "1\n", "the settings")
    (change,) = fingerprint.changes(facts(), facts(site=rules))
    assert "rules file /etc/rules" in change.text
    ours = SiteRules(Path("/g/3/rules"), "1\n", "the settings")
    assert fingerprint.changes(facts(), facts(site=ours)) == []


def test_files_that_somebody_has_changed() -> None:
    spoilt = msgspec.structs.replace(OURS, files={"/g/3/rules": "11"}, changed=["rules"])
    (change,) = fingerprint.changes(facts(), facts(in_force=spoilt))
    assert "of which rules changed since" in change.text


def on_another_kernel(site: Site) -> Watcher:
    tools = toolchain()
    machine = msgspec.structs.replace(tools.machine, kernel="7.0")
    other = msgspec.structs.replace(tools, machine=machine)
    watcher = site.watcher()
    watcher._find = lambda *_: (other, site.starter)
    return watcher


def test_another_kernel_makes_the_table_out_of_date(site: Site) -> None:
    site.canaries(3)
    watcher = on_another_kernel(site)
    site.clock.sleep(hours=1)
    done = watcher.advance(site.db)
    assert done.step is Step.WAIT and "out of date" in done.told[0].what
    row = watching.campaign(site.db, site.campaign.id)
    assert "kernel: " in row.stale and row.stale_since
    site.clock.sleep(hours=1)
    done = watcher.advance(site.db)
    assert done.told == [] and "run `plumbline campaign`" in done.because
    # Put back, all goes on.
    watcher._find = site.find
    site.clock.sleep(hours=1)
    watcher.advance(site.db)
    assert watching.campaign(site.db, site.campaign.id).stale == ""
    site.clock.sleep(hours=1)
    assert watcher.advance(site.db).step is Step.CANARY


def test_a_table_that_is_out_of_date_is_measured_anew_where_that_is_asked_for(site: Site) -> None:
    site.changed(search={"whole": True})
    site.canaries(2)
    watcher = on_another_kernel(site)
    steps = []
    for _ in range(4):
        site.clock.sleep(hours=1)
        steps.append(watcher.advance(site.db))
    assert [one.step for one in steps] == [Step.WAIT, Step.CAMPAIGN, Step.CANARY, Step.CANARY]
    new = campaigns.get(site.db, None)
    assert new.id != site.campaign.id and new.state == "finished"
    assert steps[-1].campaign == new.id


def test_files_that_were_spoilt_are_told_and_measured(site: Site) -> None:
    site.canaries(3)
    watcher = site.watcher()
    site.clock.sleep(hours=1)
    watcher.advance(site.db)
    spoilt = msgspec.structs.replace(site.work().in_force, changed=["ompi-rules.conf"])
    from plumbline.daemon import in_force

    find, in_force.find = in_force.find, lambda *_: spoilt
    try:
        site.clock.sleep(minutes=11)
        done = watcher.advance(site.db)
        assert "what is in force has changed" in done.told[0].what
        assert "ompi-rules.conf changed since" in done.told[0].table
        # Too little was learnt before it: it is learnt anew, but of what no file changes.
        learning = [
            (one.role == "reference", len(msgspec.json.decode(one.state, type=CellState).learning))
            for one in watching.cells(site.db, site.campaign.id)
        ]
        assert set(learning) == {(True, 4), (False, 0)}
        assert watcher.advance(site.db).step is Step.CANARY  # at once, and not in an hour
    finally:
        in_force.find = find
