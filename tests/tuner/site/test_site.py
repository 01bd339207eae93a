"""A whole site on a simulated machine, from the command line: merged files that are proven between
measured numbers of ranks, a budget, an end by SIGKILL, and a planted harm."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.core import application
from plumbline.core.application import Application, Calls
from plumbline.site import coordinator, proposals
from plumbline.site.checks import CheckedLayout, Prover
from plumbline.site.coordinator import SitePlan
from plumbline.site.layouts import RankLayout
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database, check
from plumbline_exporters.bundle import evidence
from tests import simgrid
from tests.tuner import started
from tests.tuner.cli.command import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

ASKED = ["--simulate", "ompi", "--nprocs", "8", "--sizes", "64,4096", "--guidelines", "GL12"]
SITE = ["campaign", "--site", *ASKED, "--json", "--db"]


def run(database: Path, *words: str) -> dict[str, Any]:
    done = plumbline(*SITE, database, *words)
    assert done.status == 0, done.err
    return done.json


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    simgrid.toolchain()
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(folder: Path) -> dict[str, Any]:
    return run(folder / "site.db")


def carried_over(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        each
        for each in found["winners"]
        if any(word.startswith("carried=") for word in each["restrictions"])
    ]


def test_rules_are_checked_where_no_campaign_has_measured(site: dict[str, Any]) -> None:
    assert list(site["members"]) == ["2x1", "4x1", "8x1"] and site["missing"] == {}
    rules = carried_over(site)
    assert rules
    for rule in rules:
        assert any(word.startswith("checked=") for word in rule["restrictions"]), rule
        assert rule["speedup"] > 1


def test_a_layout_that_its_neighbours_predict_has_no_campaign(tmp_path: Path) -> None:
    """The layout has checked rules, which decide with measured ones what lies between."""
    words = ["campaign", "--site", *ASKED[:-1], "GL3", "--json", "--db", tmp_path / "site.db"]
    done = plumbline(*words)
    assert done.status == 0, done.err
    assert list(done.json["members"]) == ["2x1", "8x1"] and done.json["missing"] == {}
    restrictions = [each["restrictions"] for each in carried_over(done.json)]
    assert any("checked=4x1" in words and "nprocs=4-4" in words for words in restrictions)
    assert any("checked=6x1" in words and "nprocs=5-7" in words for words in restrictions)
    assert all(words.count("ppn=1-1") == 1 for words in restrictions)
    assert done.json["sample"]["slower"] == 0 < done.json["sample"]["faster"]
    file = tmp_path / "site.toml"
    file.write_text("[site]\nevery = true\n")
    plan = coordinator.plan(file, {"simulate": "ompi", "nprocs": 8}, None)
    assert plan.first([]) == plan.layouts


def test_every_other_rule_is_a_winner_of_its_layout(site: dict[str, Any], folder: Path) -> None:
    """A candidate that was only faster in a search, or was dropped, is no rule."""
    others = [rule for rule in site["winners"] if rule not in carried_over(site)]
    assert others
    with Database.open(folder / "site.db") as db:
        for rule in others:
            (layout,) = [
                word.partition("=")[2]
                for word in rule["restrictions"]
                if word.startswith("measured=")
            ]
            assert any(
                (own.function, own.variant, own.configuration)
                == (rule["function"], rule["variant"], rule["configuration"])
                and own.bytes_from <= rule["bytes_from"]
                and rule["bytes_to"] <= own.bytes_to
                for own in findings.get_winners(db, site["members"][layout])
            ), rule


def test_what_holds_for_a_whole_process_is_not_searched(site: dict[str, Any], folder: Path) -> None:
    """SimGrid's selectors do; each of them would take a launch of its own."""
    with Database.open(folder / "site.db") as db:
        suites = [run.suite for id in site["members"].values() for run in runs.listing(db, id)]
    assert any(suite.startswith("search") for suite in suites)
    assert not any("cold" in suite for suite in suites)


def test_a_layout_begins_with_what_its_neighbour_has_found() -> None:
    """A simulated machine with few ranks does not: one launch is a whole search there."""
    four, eight = RankLayout(1, 4), RankLayout(1, 8)
    plan = coordinator.plan(None, {"nprocs": 8}, None)
    assert plan.earlier(eight, {four: "of-four"}) == "of-four" and plan.earlier(four, {}) is None
    assert plan.task(eight, earlier="of-four").settings.search.earlier == "of-four"
    simulated = coordinator.plan(None, {"simulate": "ompi", "nprocs": 128}, None)
    small, large = RankLayout(32, 1), RankLayout(64, 1)
    assert simulated.earlier(small, {RankLayout(16, 1): "of-16"}) is None
    assert simulated.earlier(large, {small: "of-32"}) == "of-32"


def test_the_sample_finds_no_harm(site: dict[str, Any]) -> None:
    sample = site["sample"]
    assert sample["slower"] == 0 and sample["cells"] > 0
    assert sample["low"] == 0 < sample["high"] < 1
    assert 0 < sample["between"] < sample["cells"]
    assert sample["removed"] <= sample["violated"] <= sample["cells"]


def test_results_count_the_violations_of_the_layouts(site: dict[str, Any], folder: Path) -> None:
    words = ["results", "--db", folder / "site.db", "--campaign", site["campaign"]["id"], "--json"]
    headline = plumbline(*words).json["headline"]
    assert headline == "violations in the campaigns of 3 layouts: 0 removed of 0"


def test_the_profile_has_ranges_and_their_evidence(site: dict[str, Any]) -> None:
    (path,) = [Path(name) for name in site["files"] if name.endswith(".profile")]
    lines = path.read_text().splitlines()
    ranged = [number for number, line in enumerate(lines) if "nprocs=5-7 nodes=5-7 ppn=1-1" in line]
    assert ranged
    assert all("checked on 6x1" in lines[number - 1] for number in ranged)


def test_programs_use_the_merged_files(site: dict[str, Any], folder: Path) -> None:
    """They stand before those of single campaigns, and can be exported again by their id."""
    id = site["campaign"]["id"]
    again = folder / "again"
    words = ["export", "profile", "--db", folder / "site.db", "--output", again]
    done = plumbline(*words)
    assert done.status == 0 and id in done.err and "for up to 8 ranks" in done.err
    (path,) = [Path(name) for name in site["files"] if name.endswith(".profile")]
    rules, rules_again = (
        [line for line in file.read_text().splitlines() if line.startswith("rule")]
        for file in (path, again / "plumbline.profile")
    )
    assert rules == rules_again


def test_a_site_is_read_again_without_a_launch(site: dict[str, Any], folder: Path) -> None:
    def launches() -> int:
        with Database.open(folder / "site.db") as db:
            return len(db.rows("SELECT id FROM run"))

    before = launches()
    assert run(folder / "site.db") == site
    assert launches() == before


def test_after_sigkill_the_same_command_goes_on(site: dict[str, Any], tmp_path: Path) -> None:
    database = tmp_path / "site.db"
    words = [sys.executable, "-m", "plumbline", *SITE, str(database)]
    for seconds in (3.0, 5.0):
        with subprocess.Popen(
            words,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=started.environment(),
            start_new_session=True,
        ) as command:
            time.sleep(seconds)
            command.send_signal(signal.SIGKILL)
    continued = run(database)
    assert check(database) == []
    assert continued["winners"] == site["winners"]
    assert continued["sample"] == site["sample"]


def copied(folder: Path, database: Path) -> Path:
    """Return a copy of the database of the site, whose campaigns have ended."""
    with Database.open(folder / "site.db") as db:
        db.rows("VACUUM INTO :path", {"path": str(database)})
    return database


def test_a_budget_that_is_used_up_ends_campaigns(
    site: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert carried_over(site)
    monkeypatch.setattr(coordinator, "LEAST_SECONDS", 0.0)
    found = run(copied(folder, tmp_path / "site.db"), "--budget", "0.5")
    assert carried_over(found) == [] and list(found["members"]) == ["2x1"]
    assert found["missing"] == dict.fromkeys(["4x1", "8x1"], "the budget of the site is used up")


def test_a_budget_ends_inside_a_layout_and_a_larger_one_goes_on(
    site: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The middle layout and the checks get no second launch. What was measured is kept."""
    middle, one_launch = RankLayout(4, 1), 1e-9

    def limited(_: SitePlan, layout: RankLayout, __: float) -> float:
        return one_launch if layout == middle else math.inf

    def checked(prover: Prover, *words: Any) -> CheckedLayout:
        purpose, cells, rules, environment, _ = words
        return to_its_end(prover, purpose, cells, rules, environment, one_launch)

    to_its_end = Prover.check
    monkeypatch.setattr(coordinator.SitePlan, "limit_seconds", limited)
    monkeypatch.setattr(Prover, "check", checked)
    database = tmp_path / "site.db"
    cut = run(database)
    assert list(cut["members"]) == ["2x1", "8x1"] and cut["sample"] is None
    assert carried_over(cut) == [] and "a larger budget goes on" in cut["missing"]["4x1"]
    with Database.open(database) as db:
        (begun,) = [row for row in campaigns.own(db) if row.nprocs == 4]
        (first,) = runs.listing(db, begun.id)
    monkeypatch.undo()
    whole = run(database)
    assert whole["winners"] == site["winners"] and whole["sample"] == site["sample"]
    with Database.open(database) as db:
        assert runs.listing(db, begun.id)[0] == first


def test_what_a_campaign_leaves_of_the_budget_the_next_ones_get() -> None:
    plan = coordinator.plan(None, {"simulate": "ompi", "nprocs": 8, "budget_seconds": 100.0}, None)
    two, four, eight = plan.layouts
    assert plan.first([]) == [two, eight] and plan.first([eight]) == [two, four]
    assert plan.budget(plan.layouts, 0.0) == 20.0
    assert plan.budget([four, eight], 10.0) == 25.0
    assert plan.budget([eight], 59.5) == 0.0
    assert plan.limit_seconds(four, 10.0) == 72.0
    assert plan.task(eight, 30.0).settings.search.budget_seconds == 30.0


def test_an_application_names_the_layouts_and_their_shares(tmp_path: Path) -> None:
    calls = [
        Calls("MPI_Allreduce", 8, 8, 1, 64, 100.0, 3.0, 0.1, 3.0),
        Calls("MPI_Allreduce", 4, 2, 2, 64, 100.0, 1.0, 0.1, 1.0),
        Calls("MPI_Bcast", 5, 2, 3, 64, 100.0, 9.0, 0.1, 9.0),  # 3 ranks on a node, 2 on the other
    ]
    profile = tmp_path / "profile.json"
    application.write(profile, Application.profiled(8, 20.0, calls, "4.1.4"))
    asked = {"simulate": "ompi", "profile": str(profile), "budget_seconds": 100.0}
    plan = coordinator.plan(None, asked, None)
    assert [str(layout) for layout in plan.layouts] == ["2x2", "8x1"]
    assert plan.first([]) == plan.layouts and plan.budget(plan.layouts, 0.0) == 15.0
    assert plan.task(plan.layouts[0]).settings.ranks.nodes == 2


def test_a_planted_harm_in_between_is_dropped(
    site: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A ring is slow for small messages, whatever the neighbours are said to have found."""
    carried = proposals.carried

    def planted(*arguments: Any) -> list[Any]:
        return [
            msgspec.structs.replace(rule, variant="allreduce_ring")
            for rule in carried(*arguments)
            if rule.bytes_from <= 64 <= rule.bytes_to
        ]

    monkeypatch.setattr(proposals, "carried", planted)
    database = copied(folder, tmp_path / "site.db")
    found = run(database)
    harmful = [rule for rule in carried_over(found) if rule["bytes_from"] <= 64]
    assert harmful == []
    assert any("slower or wrong on 6x1" in why for _, why in found["dropped"])
    with Database.open(database) as db:
        stored = findings.get_winners(db, campaigns.with_winners(db)[-1].id)
    assert not any("carried" in evidence(each) for each in stored if each.bytes_from <= 64)


def test_a_layout_is_added_where_neighbours_differ(
    site: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing can be carried over: what lies between gets campaigns while the budget lasts."""
    monkeypatch.setattr(proposals, "carried", lambda *_: [])
    found = run(copied(folder, tmp_path / "site.db"), "--budget", "900")
    added = set(found["members"]) - set(site["members"])
    assert "6x1" in added and added <= {"3x1", "5x1", "6x1", "7x1"}
    assert any("measured=6x1" in each["restrictions"] for each in found["winners"])
    assert found["sample"]["slower"] == 0
