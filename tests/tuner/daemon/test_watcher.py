"""From a change to what is in force then, step by step."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from plumbline.applied import targets
from plumbline.applied.generations import Store
from plumbline.daemon import taking, watched
from plumbline.daemon.step import DaemonStep
from plumbline.daemon.taking import Advance
from plumbline.daemon.watcher import Watcher
from plumbline_db import campaigns, findings, integrity, runs, watching
from plumbline_db.errors import PlumblineError
from plumbline_db.records import RECHECK
from tests.tuner.daemon.watching import Site, advance, learn, slower
from tests.tuner.simulated import Interrupted

pytestmark = pytest.mark.slow
CELL = ("MPI_Allreduce", 65536)


def until(site: Site, watcher: Watcher, step: DaemonStep, most: int = 12) -> Advance:
    for _ in range(most):
        (done,) = advance(site, watcher, 1)
        if done.step is step:
            return done
        assert not done.error, done.error
    raise AssertionError(f"no {step} in {most} steps")


def until_alarmed(site: Site, watcher: Watcher) -> None:
    while not watching.still_open(site.db, site.campaign.id):
        advance(site, watcher, 1)


@pytest.fixture
def site(learned_site: Site) -> Site:
    return learned_site


def regression(site: Site) -> None:
    """The algorithm in force is slow from now on, and another one is not."""
    site.costs.algorithm["MPI_Allreduce", "rabenseifner"] = lambda *_: 3.0


def regressed(site: Site, *, auto: bool = True) -> Watcher:
    """Return the daemon after a regression; it applies what it finds only if `auto` is set."""
    site.changed(apply={"auto": auto})
    regression(site)
    return site.watcher()


def test_a_day_without_changes(site: Site) -> None:
    assert watching.every(site.db) == []
    row = watching.campaign(site.db, site.campaign.id)
    assert row.canaries == 22 and not row.stale and row.due > site.work().now()
    assert sum(day.canaries for day in watching.days(site.db)) == 22
    used = sum(day.node_seconds for day in watching.days(site.db))
    assert used == pytest.approx(22 * 2 * 0.5)


def test_it_waits_between_canaries(fresh_site: Site) -> None:
    watcher = fresh_site.watcher()
    assert watcher.advance(fresh_site.db).step is DaemonStep.CANARY
    done = watcher.advance(fresh_site.db)
    assert (done.step, done.because) == (DaemonStep.WAIT, "")
    assert done.due == fresh_site.clock.now + timedelta(hours=1)


def test_a_change_is_confirmed_searched_applied_and_kept(site: Site) -> None:
    watcher = regressed(site)
    confirmed = until(site, watcher, DaemonStep.RECHECK)
    (news,) = confirmed.told
    assert "slower than was learnt" in news.what and "MPI_Allreduce at 65536 B" in news.table
    states = {(one.function, one.bytes): one for _, one in watching.every(site.db)}
    assert states[CELL].state == "confirmed" and states[CELL].ratio > 2
    assert "GL12" in states[CELL].detail
    searched = until(site, watcher, DaemonStep.SEARCH)
    ((_, row),) = watching.retunings(site.db)
    assert row.state == "applied", row.detail
    assert (row.generation, row.previous) == (1, 0)
    assert "generation 1 was applied" in searched.told[0].what
    search = campaigns.get(site.db, row.search)
    assert search.state == "finished" and search.id != site.campaign.id
    there = watched.files_in_force(
        site.db, site.campaign, site.work().here, site.configuration.apply
    )
    assert there.generation == 1 and not there.changed
    done = until(site, watcher, DaemonStep.CONFIRM)
    ((_, row),) = watching.retunings(site.db)
    assert row.state == "kept", row.detail
    assert "applied and confirmed" in done.told[0].what
    assert {one.state for _, one in watching.every(site.db)} == {"removed"}
    # Other winners are in force as they were.
    source = there.source(site.campaign)
    functions = {winner.function for winner in findings.get_winners(site.db, site.campaign.id)}
    assert functions <= {winner.function for winner in source.winners}
    # All goes on, and the cell is learnt anew.
    assert until(site, watcher, DaemonStep.CANARY).told == []
    assert [one.state for one in watching.cells(site.db, site.campaign.id) if "logs" in one.state]
    assert integrity.problems(site.db) == []


def test_what_does_not_hold_is_rolled_back(site: Site) -> None:
    watcher = regressed(site)
    until(site, watcher, DaemonStep.SEARCH)
    slower(site, {("MPI_Bcast", 1024): 2.0})
    done = until(site, watcher, DaemonStep.CONFIRM)
    ((_, row),) = watching.retunings(site.db)
    assert row.state == "rolled back" and "MPI_Bcast at 1024 B" in row.detail
    assert "rolled back" in done.told[0].what
    assert {one.state for _, one in watching.every(site.db)} == {"stays"}
    assert site.work().in_force.generation == 0
    assert until(site, watcher, DaemonStep.CANARY).told == []


def test_without_auto_apply_it_is_offered(site: Site) -> None:
    watcher = regressed(site, auto=False)
    done = until(site, watcher, DaemonStep.SEARCH, 20)
    ((_, row),) = watching.retunings(site.db)
    assert row.state == "offered", row.detail
    assert done.told[0].command.startswith("plumbline apply --modules ")
    assert done.told[0].command.endswith(f" --campaign {row.search}")
    assert site.work().in_force.generation == 0
    # Whoever applies it loses none of the other winners.
    together = {one.function for one in findings.get_winners(site.db, row.search)}
    assert {one.function for one in findings.get_winners(site.db, site.campaign.id)} <= together
    # The daemon that is told no campaign still watches the first one.
    assert until(site, watcher, DaemonStep.CANARY).campaign == site.campaign.id


def test_what_cannot_be_applied_is_offered(site: Site) -> None:
    """Something of others lies where it would go."""
    watcher = regressed(site)
    theirs = Path(site.configuration.apply.modules) / "plumbline" / "openmpi-4.1.4"
    theirs.parent.mkdir()
    theirs.write_text("#%Module\n")
    until(site, watcher, DaemonStep.SEARCH)
    ((_, row),) = watching.retunings(site.db)
    assert row.state == "offered" and "was not written by Plumbline" in row.detail
    assert theirs.read_text() == "#%Module\n"


@pytest.mark.parametrize("mended", [True, False], ids=["that passes", "that stays"])
def test_a_disk_that_refuses_what_is_applied_is_asked_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, mended: bool
) -> None:
    watcher = regressed(site)
    until(site, watcher, DaemonStep.RECHECK)
    put, refusals = taking.put_in_force, 0

    def refused(*words: object) -> object:
        nonlocal refusals
        if mended and refusals == 2:
            return put(*words)
        refusals += 1
        raise PlumblineError("cannot write here") from OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(taking, "put_in_force", refused)
    while not (taken := advance(site, watcher, 1)[0]).told:
        assert "cannot write here" in taken.error
    ((_, row),) = watching.retunings(site.db)
    assert (row.state, refusals) == (("applied", 2) if mended else ("offered", 8)), row.detail


def test_what_was_applied_by_half_is_applied_as_a_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file names the new generation, and the next one could not be written."""
    watcher = regressed(site)
    until(site, watcher, DaemonStep.RECHECK)
    carry_out = targets.carry_out

    def half(edits: Sequence[targets.Edit], store: Store) -> None:
        carry_out(edits[:1], store)
        raise PlumblineError("cannot write there") from OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(targets, "carry_out", half)
    (done,) = advance(site, watcher, 1)
    assert "cannot write there" in done.error and len(list(modules(site))) == 1
    monkeypatch.setattr(targets, "carry_out", carry_out)
    (done,) = advance(site, watcher, 1)
    assert "generation 1 was applied" in done.told[0].what
    assert {path.name for path in modules(site)} == {"openmpi-4.1.4", "openmpi-4.1.4.lua"}
    # What was learnt before is there to confirm it by.
    assert "applied and confirmed" in until(site, watcher, DaemonStep.CONFIRM).told[0].what


def modules(site: Site) -> Iterator[Path]:
    return (Path(site.configuration.apply.modules) / "plumbline").glob("openmpi-*")


def spoilt(site: Site) -> Watcher:
    """A generation of the campaign's winners as somebody has applied it; when all is learnt, its
    rules file says another algorithm than it was written with."""
    taking.put_in_force(site.work(), site.campaign)
    watcher = site.watcher()
    learn(site, watcher)
    rules = Path(site.work().in_force.folder) / "ompi-rules.conf"
    text = re.sub(r"^(\d+) 6 (\d+) (\d+)$", r"\1 1 0 0", rules.read_text(), flags=re.MULTILINE)
    assert text != rules.read_text()
    rules.write_text(text)
    return watcher


def test_files_that_were_spoilt_are_written_again(fresh_site: Site) -> None:
    fresh_site.changed(apply={"auto": True})
    watcher = spoilt(fresh_site)
    (told_of,) = advance(fresh_site, watcher, 1)
    assert "ompi-rules.conf changed since" in told_of.told[0].table
    done = until(fresh_site, watcher, DaemonStep.CONFIRM, 20)
    ((_, row),) = watching.retunings(fresh_site.db)
    assert (row.state, row.search, row.previous, row.generation) == ("kept", None, 1, 2), row
    assert "changed since they were written: ompi-rules.conf" in row.because
    assert "applied and confirmed" in done.told[0].what
    assert {one.state for _, one in watching.every(fresh_site.db)} == {"removed"}
    assert fresh_site.work().in_force.changed == []


def test_where_files_are_not_the_reason_it_is_searched(fresh_site: Site) -> None:
    fresh_site.changed(apply={"auto": True})
    watcher = spoilt(fresh_site)
    regression(fresh_site)
    until(fresh_site, watcher, DaemonStep.CONFIRM, 20)
    first = watching.retunings(fresh_site.db)[0][1]
    assert first.state == "failed" and "still" in first.detail
    until(fresh_site, watcher, DaemonStep.CONFIRM, 20)
    second = watching.retunings(fresh_site.db)[1][1]
    assert second.state == "kept" and second.search is not None
    assert (second.previous, second.generation) == (2, 3)


def test_spoilt_files_are_offered_without_auto_apply(fresh_site: Site) -> None:
    watcher = spoilt(fresh_site)
    done = until(fresh_site, watcher, DaemonStep.SEARCH, 20)
    ((_, row),) = watching.retunings(fresh_site.db)
    assert row.state == "offered"
    assert done.told[0].command.endswith(f" --campaign {fresh_site.campaign.id}")


def test_where_nothing_is_better_it_ends(site: Site) -> None:
    watcher = site.watcher()
    slower(site, {CELL: 1.5})  # whatever computes it
    until(site, watcher, DaemonStep.SEARCH)
    ((_, row),) = watching.retunings(site.db)
    assert row.state == "nothing better", row.detail
    assert {one.state for _, one in watching.every(site.db)} == {"stays"}
    quiet = advance(site, watcher, 24)
    assert {done.step for done in quiet} == {DaemonStep.CANARY} and not any(d.told for d in quiet)


def test_a_change_that_was_none_is_refuted(site: Site) -> None:
    watcher = site.watcher()
    slower(site, {CELL: 1.5})
    until_alarmed(site, watcher)
    slower(site, {CELL: 1.0})
    done = until(site, watcher, DaemonStep.RECHECK)
    assert done.told == []
    ((_, alarm),) = watching.every(site.db)
    assert alarm.state == "refuted" and "of what was learnt" in alarm.detail
    assert {one.step for one in advance(site, watcher, 6)} == {DaemonStep.CANARY}


def test_other_sizes_of_a_function_that_became_slower_are_searched_with_it(site: Site) -> None:
    """They have raised no alarm yet; other functions are none of it."""
    watcher = site.watcher()
    cells = watching.cells(site.db, site.campaign.id)
    other = next(
        (one.function, one.bytes)
        for one in cells
        if (one.function, one.variant) == (CELL[0], "default") and one.bytes != CELL[1]
    )
    slower(site, {CELL: 1.5})
    until_alarmed(site, watcher)
    slower(site, {other: 1.3, ("MPI_Gather", 4096): 1.3})
    done = until(site, watcher, DaemonStep.RECHECK)
    assert f"at {other[1]} B" in done.told[0].table
    found = {(one.function, one.bytes): one for _, one in watching.every(site.db)}
    assert set(found) == {CELL, other}
    assert found[other].state == "confirmed" and found[other].canaries == 0
    assert found[other].ratio == pytest.approx(1.3, rel=0.1)
    until(site, watcher, DaemonStep.SEARCH)
    ((_, row),) = watching.retunings(site.db)
    assert f"at {CELL[1]} B" in row.because and f"at {other[1]} B" in row.because
    assert {one.retuning for one in found.values()} == {None}
    assert len({one.retuning for _, one in watching.every(site.db)}) == 1


def test_a_search_that_is_only_told(site: Site) -> None:
    site.changed(search={"open": False})
    watcher = regressed(site, auto=False)
    until(site, watcher, DaemonStep.RECHECK)
    after = advance(site, watcher, 3)
    assert {done.step for done in after} == {DaemonStep.CANARY}
    assert watching.retunings(site.db) == []


def test_interrupted_anywhere_it_goes_on(site: Site) -> None:
    """After each number of launches the daemon dies, and another one begins."""
    regressed(site)
    kept: set[str] = set()
    for _ in range(60):
        watcher = site.watcher()
        site.starter._stop_after = len(site.starter.launches) + 7
        try:
            for _ in range(30):
                done = watcher.advance(site.db)
                assert not done.error
                site.clock.sleep(minutes=20)
        except Interrupted:
            now = {run.id for run in runs.listing(site.db, site.campaign.id)}
            assert kept <= now
            kept = now
        retunings = watching.retunings(site.db)
        if retunings and retunings[0][1].ended:
            break
    ((_, row),) = retunings
    assert row.state == "kept"
    rechecks = [one for _, one in watching.canaries(site.db) if one.stage == RECHECK]
    assert [one.outcome for one in rechecks] == ["judged", "judged"]
    assert integrity.problems(site.db) == []


def test_users_go_before_it(fresh_site: Site) -> None:
    fresh_site.changed(neighbour={"node_seconds_a_day": 5.0})
    watcher = fresh_site.watcher()
    done = advance(fresh_site, watcher, 6)
    assert [one.step for one in done] == [DaemonStep.CANARY] * 5 + [DaemonStep.WAIT]
    assert done[-1].because == "5 node-seconds were used today, of 5"
    fresh_site.clock.sleep(hours=8)
    (after,) = advance(fresh_site, watcher, 1)
    assert after.step is DaemonStep.CANARY and "9 canaries were missed" in after.said[0]
    assert sum(day.missed for day in watching.days(fresh_site.db)) == 9


def test_an_error_is_told_and_tried_again_later(fresh_site: Site) -> None:
    watcher = fresh_site.watcher()
    find = watcher._find

    def missing(*args: object) -> object:
        raise PlumblineError("the library is gone")

    watcher._find = missing
    done = watcher.advance(fresh_site.db)
    assert "the library is gone" in done.error and done.because
    assert watcher.advance(fresh_site.db).error == ""  # it rests
    watcher._find = find
    fresh_site.clock.sleep(minutes=2)
    assert watcher.advance(fresh_site.db).step is DaemonStep.CANARY
    assert sum(day.errors for day in watching.days(fresh_site.db)) == 1


@pytest.mark.parametrize("mended", [True, False], ids=["that passes", "that stays"])
def test_an_error_in_a_search_is_tried_again(site: Site, mended: bool) -> None:
    """After a minute, two, up to an hour; then the search has failed."""
    watcher = regressed(site, auto=False)
    until(site, watcher, DaemonStep.RECHECK)
    start, refusals = site.starter.start, 0

    def refused(campaign: str, *words: object, **more: object) -> object:
        nonlocal refusals
        if campaign == site.campaign.id or (mended and refusals == 3):
            return start(campaign, *words, **more)
        refusals += 1
        raise PlumblineError("no process can be started")

    site.starter.start = refused
    errors = []
    for _ in range(20):
        site.clock.sleep(hours=1)
        done = watcher.advance(site.db)
        if done.step is DaemonStep.SEARCH:
            break
        errors.append(done.error)
    ((_, row),) = watching.retunings(site.db)
    assert all("no process can be started" in error for error in errors)
    assert (row.state, len(errors)) == (("offered", 3) if mended else ("failed", 7)), row.detail


def test_a_clock_that_jumps_removes_nothing(fresh_site: Site) -> None:
    """It is put right within a day; what is old after a day is."""
    watcher = fresh_site.watcher()
    advance(fresh_site, watcher, 3)
    fresh_site.clock.sleep(days=3650)
    (jumped,) = advance(fresh_site, watcher, 1)
    assert "nothing is removed by age for a day" in jumped.said[0]
    fresh_site.clock.sleep(days=-3650)
    advance(fresh_site, watcher, 2)
    assert len(watching.canaries(fresh_site.db)) >= 5
    fresh_site.clock.sleep(days=500)
    said = [line for done in advance(fresh_site, watcher, 30) for line in done.said]
    assert any(line.startswith("removed by age") for line in said)
