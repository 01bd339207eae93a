"""Verdicts, searches, winners, exports, events, campaigns: what is put comes back."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db import campaigns, findings, machines
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Campaign, Event, Export, Search, Trial, Verdict, Winner
from tests.db import build, strategies

CAMPAIGN = build.CAMPAIGN.id


@strategies.in_one_database
@given(table=st.lists(strategies.verdicts, max_size=4))
def test_verdicts_come_back(started: Database, table: list[Verdict]) -> None:
    findings.put_verdicts(started, CAMPAIGN, "before", table)
    assert findings.get_verdicts(started, CAMPAIGN, "before") == table


@strategies.in_one_database
@given(chosen=st.lists(strategies.winners, max_size=4))
def test_winners_come_back(started: Database, chosen: list[Winner]) -> None:
    findings.put_winners(started, CAMPAIGN, chosen)
    assert findings.get_winners(started, CAMPAIGN) == chosen


def test_the_newest_command_line_comes_back(started: Database) -> None:
    assert campaigns.command_line(started, CAMPAIGN) == ""
    assert campaigns.how_to_continue(started, build.CAMPAIGN) == (
        f"`plumbline campaign --continue {CAMPAIGN}` continues it"
    )
    for line in ("plumbline campaign -n 2", "plumbline campaign -n 2 'a file.toml'"):
        campaigns.put_command_line(started, CAMPAIGN, line)
        assert campaigns.command_line(started, CAMPAIGN) == line
    assert line in campaigns.how_to_continue(started, build.CAMPAIGN)


def test_only_a_campaign_that_a_process_measures_is_running(started: Database) -> None:
    assert campaigns.state(started, build.CAMPAIGN) == "interrupted"
    started.measures(CAMPAIGN)
    assert campaigns.state(started, build.CAMPAIGN) == "running"
    started.measures("another")
    assert campaigns.state(started, build.CAMPAIGN) == "interrupted"
    done = msgspec.structs.replace(build.CAMPAIGN, state="finished", finished="2025")
    assert campaigns.state(started, done) == "finished"


@strategies.in_one_database
@given(search=strategies.searches)
def test_searches_come_back(started: Database, search: Search) -> None:
    findings.put_search(started, CAMPAIGN, search)
    assert search in findings.all_searches(started, CAMPAIGN)


def test_stages_are_replaced_one_by_one(started: Database) -> None:
    for stage in ("after", "round-2", "before", "round-1"):
        findings.put_verdicts(started, CAMPAIGN, stage, [build.verdict(stage)])
    findings.put_verdicts(started, CAMPAIGN, "after", [build.verdict("after", ratio=0.9)])
    assert findings.stages(started, CAMPAIGN) == ["before", "round-1", "round-2", "after"]
    assert [v.ratio for v in findings.get_verdicts(started, CAMPAIGN, "after")] == [0.9]
    assert [v.ratio for v in findings.get_verdicts(started, CAMPAIGN, "before")] == [1.84]
    assert findings.stages(started, "another") == []


def test_verdict_of_another_stage_is_a_bug(started: Database) -> None:
    with pytest.raises(ValueError, match="stage after"):
        findings.put_verdicts(started, CAMPAIGN, "before", [build.verdict("after")])


@pytest.mark.parametrize("field", ["ratio", "ratio_low", "ratio_high", "p", "p_adjusted"])
def test_nan_is_refused(started: Database, field: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        findings.put_verdicts(
            started, CAMPAIGN, "before", [build.verdict("before", **{field: math.nan})]
        )


def test_nan_is_refused_in_trials_and_winners(started: Database) -> None:
    trial = Trial("default", {}, "measured", math.nan, None, None, 3, "")
    search = Search(1, "MPI_Bcast", 4, 4, 64, [], "nothing better", "", [trial], [])
    with pytest.raises(ValueError, match="not a number"):
        findings.put_search(started, CAMPAIGN, search)
    with pytest.raises(ValueError, match="not a number"):
        findings.put_winners(started, CAMPAIGN, [build.winner(speedup_low=math.nan)])


def test_search_for_the_same_cell_in_the_same_round_is_replaced(started: Database) -> None:
    trials = [
        Trial("default", {"coll_tuned_bcast_algorithm": "6"}, "measured", 0.5, 0.4, 0.6, 12, ""),
        Trial("bcast_as_scatter_allgather", {}, "wrong", None, None, None, 1, "at byte 3"),
    ]
    search = Search(
        1, "MPI_Bcast", 4, 4, 64, ["GL1"], "winner", "gone", trials, ["search-1"], "GL1@64", 0.5
    )
    other = msgspec.structs.replace(search, round=0, trials=[])
    findings.put_search(started, CAMPAIGN, search)
    findings.put_search(started, CAMPAIGN, other)
    shorter = msgspec.structs.replace(search, trials=trials[:1], reason="again")
    findings.put_search(started, CAMPAIGN, shorter)
    assert findings.all_searches(started, CAMPAIGN) == [other, shorter]
    assert started.row("SELECT count(*) FROM trial") == (1,)


def test_winners_are_replaced_as_a_whole(started: Database) -> None:
    findings.put_winners(started, CAMPAIGN, [build.winner(), build.winner(function="MPI_Bcast")])
    findings.put_winners(started, CAMPAIGN, [build.winner(nprocs=2)])
    assert findings.get_winners(started, CAMPAIGN) == [build.winner(nprocs=2)]
    findings.put_winners(started, CAMPAIGN, [])
    assert findings.get_winners(started, CAMPAIGN) == []


def test_exports_by_path(started: Database) -> None:
    first = Export("env", "/out/plumbline.sh", "00", "2025-03-01T11:00:00Z")
    campaigns.put_export(started, CAMPAIGN, first)
    renewed = msgspec.structs.replace(first, sha256="11")
    campaigns.put_export(started, CAMPAIGN, renewed)
    assert campaigns.exports(started, CAMPAIGN) == [renewed]


def test_events_in_order(started: Database) -> None:
    told = [Event("2025-03-01T10:00:00Z", "launch failed", f"number {i}") for i in range(3)]
    for event in told:
        campaigns.put_event(started, CAMPAIGN, event)
    assert campaigns.events(started, CAMPAIGN) == told
    with pytest.raises(ValueError, match="not stored"):
        campaigns.put_event(started, "another", told[0])


def test_campaign_changes_only_its_state(started: Database) -> None:
    done = msgspec.structs.replace(
        build.CAMPAIGN, state="finished", finished="2025-03-01T10:05:00Z"
    )
    campaigns.put(started, done)
    assert campaigns.get(started, CAMPAIGN) == done
    with pytest.raises(ValueError, match="other facts"):
        campaigns.put(started, msgspec.structs.replace(done, nprocs=8))
    with pytest.raises(ValueError, match="other facts"):
        campaigns.put(started, msgspec.structs.replace(done, id="c-other"))
    assert campaigns.all_campaigns(started) == [done]


def test_campaigns_without_parents_are_a_bug(started: Database) -> None:
    lost = msgspec.structs.replace(build.CAMPAIGN, id="c-2", key="k-2", machine="m-unknown")
    with pytest.raises(ValueError, match="machine m-unknown"):
        campaigns.put(started, lost)


def test_latest_campaign(started: Database) -> None:
    second: Campaign = msgspec.structs.replace(build.CAMPAIGN, id="c-2", key="k-2")
    campaigns.put(started, second)
    campaigns.put(started, msgspec.structs.replace(build.CAMPAIGN, state="finished"))
    assert campaigns.get(started, None) == second
    with pytest.raises(PlumblineError, match=r"no campaign c-3; it contains: c-20250301-a, c-2"):
        campaigns.get(started, "c-3")


def test_no_campaign_yet(db: Database) -> None:
    with pytest.raises(PlumblineError, match="plumbline campaign"):
        campaigns.get(db, None)


def test_machines_and_libraries_are_refreshed(started: Database) -> None:
    machine = msgspec.structs.replace(build.MACHINE, kernel="6.1.0-19-amd64")
    machines.put_machine(started, machine)
    assert machines.machine(started, machine.id) == machine
    assert machines.library(started, build.LIBRARY.fingerprint) == build.LIBRARY
    made = {"debug": "no", "compiler": "gcc 12.2.0"}
    library = msgspec.structs.replace(build.LIBRARY, prefix="/opt/openmpi", build=made)
    machines.put_library(started, library)
    assert machines.library(started, library.fingerprint) == library
    with pytest.raises(PlumblineError, match="no machine m-0"):
        machines.machine(started, "m-0")
    with pytest.raises(PlumblineError, match="no library with fingerprint f-0"):
        machines.library(started, "f-0")
