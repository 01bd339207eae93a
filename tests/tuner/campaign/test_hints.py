"""A campaign that begins with the winners of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import going_on
from plumbline.core.winner import holds
from plumbline.results import report
from plumbline.settings import AFRESH, identity
from plumbline.settings.identity import settings_of
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import UNBOUNDED_BYTES, Campaign, Winner
from tests.tuner import planted, whole
from tests.tuner.simulated import Costs, SimulatedStarter, toolchain

SETTINGS = planted.settings()


def trusting(_: Winner) -> str:
    return ""


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Campaign]]:
    folder = tmp_path_factory.mktemp("first")
    with Database.open(folder / "plumbline.db", write=True) as db:
        yield db, whole.campaign(db, SimulatedStarter(planted.costs()), SETTINGS, folder / "out")


@pytest.fixture(scope="module")
def second(
    first: tuple[Database, Campaign], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Campaign, Campaign]:
    """The first campaign, and one that begins with its winners on an unchanged machine."""
    db, before = first
    folder = tmp_path_factory.mktemp("second")
    return before, again(db, before.id, folder, SimulatedStarter(planted.costs()))


def again(db: Database, earlier: str, folder: Path, starter: SimulatedStarter) -> Campaign:
    settings = SETTINGS.but(earlier=earlier)
    return whole.campaign(db, starter, settings, folder, new=True)


def chosen(found: list[Winner]) -> set[tuple[str, int, int, str, str]]:
    return {
        (one.function, one.bytes_from, one.bytes_to, one.variant, str(one.configuration))
        for one in found
    }


def violated(db: Database, campaign: Campaign) -> set[tuple[str, str, int]]:
    return {
        (one.guideline, one.function, one.bytes)
        for one in findings.get_verdicts(db, campaign.id, "after")
        if one.verdict == "violated"
    }


def test_on_an_unchanged_machine_winners_are_confirmed_and_nothing_is_searched(
    first: tuple[Database, Campaign], second: tuple[Campaign, Campaign]
) -> None:
    db, (before, after) = first[0], second
    assert chosen(findings.get_winners(db, after.id)) == chosen(findings.get_winners(db, before.id))
    assert violated(db, after) == violated(db, before)
    stages = {run.suite.partition("-")[0] for run in runs.listing(db, after.id)}
    assert "search" not in stages and {"before", "confirm", "accept"} <= stages
    # The same calls of the same library were right.
    assert "trial" in {run.suite.partition("-")[0] for run in runs.listing(db, before.id)}
    assert "trial" not in stages
    assert findings.all_searches(db, after.id) == []
    removed = {name for winner in findings.get_winners(db, before.id) for name in winner.removes}
    assert {
        name for winner in findings.get_winners(db, after.id) for name in winner.removes
    } == removed
    (told,) = [one for one in campaigns.events(db, after.id) if one.kind == "earlier campaign"]
    assert before.id in told.text


def test_what_is_left_says_who_has_searched_it(
    first: tuple[Database, Campaign], second: tuple[Campaign, Campaign]
) -> None:
    reasons = {one.reason for one in report.read(first[0], second[1].id).remaining()}
    assert len(reasons) == 1 and "--earlier none" in reasons.pop()


def test_a_winner_that_is_slower_now_loses_its_place_and_its_cells_are_searched(
    first: tuple[Database, Campaign], tmp_path: Path
) -> None:
    db, before = first
    costs = planted.costs()
    costs.algorithm["MPI_Scatter", "binomial"] = lambda *_: 3.0
    after = again(db, before.id, tmp_path, SimulatedStarter(costs))
    was, now = (
        [one for one in findings.get_winners(db, campaign.id) if one.function == "MPI_Scatter"]
        for campaign in (before, after)
    )
    assert any("binomial" in one.configuration.values() for one in was)
    assert not any("binomial" in one.configuration.values() for one in now)
    assert {one.function for one in findings.all_searches(db, after.id)} == {"MPI_Scatter"}


def test_a_new_violation_is_searched(first: tuple[Database, Campaign], tmp_path: Path) -> None:
    db, before = first
    costs = planted.costs()
    costs.everything["MPI_Gather", 16384] = 4.0
    after = again(db, before.id, tmp_path, SimulatedStarter(costs))
    cells = {(one.function, one.bytes) for one in findings.all_searches(db, after.id)}
    assert {function for function, _ in cells} == {"MPI_Gather"}


def test_the_third_knows_what_the_first_has_searched(
    first: tuple[Database, Campaign], second: tuple[Campaign, Campaign]
) -> None:
    db, (before, after) = first[0], second
    found = going_on.hints_of(db, after.id, trusting)
    searched = {(one.function, one.bytes) for one in findings.all_searches(db, before.id)}
    assert found is not None
    assert {(cell.function, cell.bytes) for cell in found.searched} == searched


def test_another_campaign_begins_with_the_last_one_unless_it_is_told_otherwise(
    first: tuple[Database, Campaign],
) -> None:
    db, before = first

    def begun(earlier: str | None) -> str | None:
        settings = SETTINGS.but(earlier=earlier)
        campaign = identity.begin(db, toolchain(), settings, new=True)
        going = going_on.go_on(db, campaign, settings)
        assert settings_of(campaigns.get(db, campaign.id).settings) == going.settings
        return going.settings.search.earlier

    last = [one for one in campaigns.own(db) if one.state == "finished"][-1]
    assert begun(None) == last.id
    assert begun(AFRESH) == AFRESH
    assert begun(before.id) == before.id


def test_the_first_of_its_kind_has_none(tmp_path: Path) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        campaign = identity.begin(db, toolchain(), SETTINGS, new=True)
        assert going_on.newest_hints(db, campaign) == AFRESH
        assert going_on.hints_of(db, AFRESH, trusting) is None


def test_a_campaign_that_is_not_there_or_not_finished_gives_none(
    first: tuple[Database, Campaign],
) -> None:
    db, _ = first
    with pytest.raises(PlumblineError, match="contains no campaign nosuch"):
        going_on.hints_of(db, "nosuch", trusting)
    running = identity.begin(db, toolchain(), SETTINGS, new=True)
    assert running.state == "running"
    with pytest.raises(UsageError, match="not finished"):
        going_on.hints_of(db, running.id, trusting)


def test_records_of_another_release_are_no_hint(
    first: tuple[Database, Campaign], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, _ = first
    campaign = identity.begin(db, toolchain(), SETTINGS, new=True)
    assert going_on.newest_hints(db, campaign) != AFRESH
    monkeypatch.setattr("plumbline.system.version.PLUMBLINE", "9.9")
    assert going_on.newest_hints(db, campaign) == AFRESH


def test_what_the_search_space_does_not_allow_is_no_hint(
    first: tuple[Database, Campaign], tmp_path: Path
) -> None:
    db, before = first
    true = findings.get_winners(db, before.id)
    planted_one = msgspec.structs.replace(true[0], configuration={"pmix_server_uri": "/tmp/x"})
    findings.put_winners(db, before.id, [planted_one, *true[1:]])
    try:
        starter = SimulatedStarter(planted.costs())
        after = again(db, before.id, tmp_path, starter)
    finally:
        findings.put_winners(db, before.id, true)
    plans = "".join(run.plan + str(run.environment) for run in runs.listing(db, after.id))
    assert "pmix_server_uri" not in plans
    assert true[0].function in {one.function for one in findings.all_searches(db, after.id)}


def elsewhere(db: Database, earlier: str, folder: Path, costs: Costs) -> Campaign:
    """Return a campaign of as many ranks on two nodes."""
    settings = SETTINGS.but(nodes=2, earlier=earlier)
    return whole.campaign(db, SimulatedStarter(costs), settings, folder, new=True)


def stages(db: Database, campaign: Campaign) -> list[str]:
    """Return the stages of the launches of a campaign, in order."""
    return list(dict.fromkeys(run.suite.partition("-")[0] for run in runs.listing(db, campaign.id)))


def test_winners_of_another_layout_are_confirmed_and_nothing_is_searched(
    first: tuple[Database, Campaign], tmp_path: Path
) -> None:
    db, before = first
    after = elsewhere(db, before.id, tmp_path, planted.costs())
    carried = findings.get_winners(db, after.id)
    assert chosen(carried) == chosen(findings.get_winners(db, before.id))
    assert {winner.ppn for winner in carried} == {2}
    assert "search" not in stages(db, after) and {"accept", "confirm"} <= set(stages(db, after))


def test_a_violation_that_the_other_layout_did_not_have_is_searched_before_winners_are_confirmed(
    first: tuple[Database, Campaign], tmp_path: Path
) -> None:
    db, before = first
    costs = planted.costs()
    costs.everything["MPI_Gather", 16384] = 4.0
    after = elsewhere(db, before.id, tmp_path, costs)
    assert {search.function for search in findings.all_searches(db, after.id)} == {"MPI_Gather"}
    order = stages(db, after)
    assert order.index("search") < order.index("confirm")
    assert chosen(findings.get_winners(db, before.id)) <= chosen(findings.get_winners(db, after.id))


def test_a_winner_that_gains_much_less_than_at_another_layout_is_short(
    first: tuple[Database, Campaign],
) -> None:
    """On a logarithmic scale. At the same layout it is what it was."""
    db, before = first
    found = going_on.hints_of(db, before.id, trusting)
    assert found is not None and found.before is None
    same, *others = found.winners
    half = msgspec.structs.replace(same, speedup=0.9 * same.speedup**0.5)
    assert found.short([half, *others]) == []
    assert msgspec.structs.replace(found, before=set()).short([half, *others]) == [half]


def test_two_ranks_tell_others_of_their_winners_alone(
    first: tuple[Database, Campaign], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, before = first
    other = msgspec.structs.replace(before, nodes=2, ppn=2)
    every = going_on.hints_of(db, before.id, trusting, other)
    monkeypatch.setattr(going_on, "_FEW_RANKS", before.nprocs)
    few = going_on.hints_of(db, before.id, trusting, other)
    assert every is not None and few is not None
    won = {cell for cell in every.searched if any(holds(each, cell) for each in few.winners)}
    assert few.searched == won and won < every.searched


def test_winners_of_another_layout_end_at_the_largest_size_here(
    first: tuple[Database, Campaign],
) -> None:
    """A node with more ranks has smaller messages."""
    db, before = first
    other = msgspec.structs.replace(before, nodes=2, ppn=2)
    found = going_on.hints_of(db, before.id, trusting, other)
    assert found is not None
    sizes = {"MPI_Scan": [64, 1024, 4096], "MPI_Bcast": [16], "MPI_Scatter": [64]}
    kept = {each.function: each.bytes_to for each in found.winners_for([], sizes)}
    assert kept == {"MPI_Scan": 4096, "MPI_Scatter": UNBOUNDED_BYTES}


def test_only_what_files_can_limit_to_a_layout_is_tried(db: Database, tmp_path: Path) -> None:
    """A profile can limit rules to several nodes; the rules file of Open MPI cannot."""
    settings = SETTINGS.but(limited_to="layout", rounds=1)
    limited = whole.campaign(db, SimulatedStarter(planted.costs()), settings, tmp_path)
    found = findings.get_winners(db, limited.id)
    assert found and all(winner.configuration == {} for winner in found)
    plans = [run.plan for run in runs.listing(db, limited.id) if run.suite.startswith("search")]
    assert plans and not any("coll_tuned" in plan for plan in plans)


def test_hints_change_no_measurement() -> None:
    one, other = SETTINGS.but(earlier="a"), SETTINGS.but(earlier="b")
    assert identity.identifying(one) == identity.identifying(other)
    assert msgspec.json.encode(one) != msgspec.json.encode(other)
