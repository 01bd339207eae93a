"""Launches beside other work: repeated once, never for long in vain, and the same in a replay; what
load has cost; waiting for a quiet machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec
import pytest

from plumbline.cli import digest
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import conditions, other_work
from plumbline.measure.comparison import Arm, take_turns
from plumbline.measure.launches import LaunchStore, Series
from plumbline.measure.other_work import IN_VAIN, OtherWork
from plumbline.results import report
from plumbline.settings import identity
from plumbline.settings.campaign_file import load
from plumbline.system.machine import Others
from plumbline_db import findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Suite, Winner
from tests.db import build
from tests.sampled import by_default
from tests.tuner import whole
from tests.tuner.beside_work import BUSY, QUIET, Shared
from tests.tuner.lab import Lab
from tests.tuner.simulated import Costs, Interrupted

PLAN = Plan("", 7, (PlanCase("MPI_Bcast", 64), PlanCase("MPI_Bcast", 1024)), blocks=2)
BEFORE = Suite("before")


def burst(first: int, last: int) -> Callable[[int], float]:
    """Others work while these launches run."""
    return lambda number: BUSY if first <= number <= last else QUIET


def stored(lab: Lab) -> list[tuple[str, int]]:
    return sorted((run.suite, run.sequence) for run in lab.runs())


def test_a_launch_beside_other_work_is_repeated_and_does_not_count(lab: Lab) -> None:
    store = lab.store(Shared(burst(1, 1)), other_work=OtherWork())
    Series(store, BEFORE, PLAN, {}).advance(3)
    assert stored(lab) == [("before", 0), ("before", 1), ("before", 2), ("before-repeated", 1)]
    found = {run.id: runs.load(lab.db, run.id) for run in lab.runs()}
    high = {id for id, one in found.items() if one and conditions.foreign(*one).high}
    assert high == {f"{lab.campaign.id}/before-repeated-001"}
    (samples, *_) = runs.launch_samples(lab.db, lab.campaign.id, ["before"])
    assert len(samples.runs) == 3
    assert store.spent_seconds == pytest.approx(4 * 0.5)


def test_without_it_nothing_is_repeated(lab: Lab) -> None:
    Series(lab.store(Shared(burst(0, 9))), BEFORE, PLAN, {}).advance(3)
    assert stored(lab) == [("before", 0), ("before", 1), ("before", 2)]


def test_permanent_load_costs_few_launches(lab: Lab) -> None:
    """What is repeated in vain is not repeated for ever, until the machine is quiet again."""
    starter = Shared(burst(0, 23))
    store = lab.store(starter, other_work=OtherWork())
    Series(store, BEFORE, PLAN, {}).advance(20)
    assert len(starter.launches) == 20 + IN_VAIN
    assert not store.is_quiet
    Series(store, Suite("later"), PLAN, {}).advance(2)  # the first is beside other work yet
    assert store.is_quiet
    assert [name for name, _ in stored(lab)].count("later-repeated") == 0


def test_a_series_never_takes_twice_its_launches(lab: Lab) -> None:
    starter = Shared(lambda number: BUSY if number % 2 == 0 else QUIET)
    Series(lab.store(starter, other_work=OtherWork()), BEFORE, PLAN, {}).advance(5)
    assert len(starter.launches) == 10


def test_arms_keep_their_turns(lab: Lab) -> None:
    arm = Arm(Suite("confirm"), PLAN, {"A": "b"})
    store = lab.store(Shared(burst(2, 2)), other_work=OtherWork())
    take_turns(store, [arm, arm.beside()], 2)
    ours, theirs = arm.suite.name, arm.beside().suite.name
    ran = [(run.suite, run.sequence) for run in sorted(lab.runs(), key=lambda run: run.started)]
    assert sorted(ran) == [(ours, 0), (ours, 1), (theirs, 0), (theirs, 1), (f"{ours}-repeated", 1)]


def test_what_is_only_checked_is_not_repeated(lab: Lab) -> None:
    checked = msgspec.structs.replace(PLAN, cases=(PlanCase("MPI_Bcast", 64, calls=5),))
    starter = Shared(burst(0, 9))
    Series(lab.store(starter, other_work=OtherWork()), Suite("trial"), checked, {}).advance()
    assert len(starter.launches) == 1


@pytest.mark.parametrize("after", range(6))
def test_a_replay_meets_the_same_launches(
    fresh_lab: Callable[[], AbstractContextManager[Lab]], after: int
) -> None:
    """However it was interrupted: also between a launch and its repetition."""
    machine = burst(1, 3)
    with fresh_lab() as lab:
        at_once = lab.store(Shared(machine), other_work=OtherWork())
        Series(at_once, BEFORE, PLAN, {}).advance(4)
        wanted = stored(lab)
        replay = lab.store(Shared(machine, stop_after=0), other_work=OtherWork())
        Series(replay, BEFORE, PLAN, {}).advance(4)
        assert replay.spent_seconds == at_once.spent_seconds
        assert replay.is_quiet == at_once.is_quiet
    with fresh_lab() as lab:
        first = Shared(machine, stop_after=after)
        with pytest.raises(Interrupted):
            Series(lab.store(first, other_work=OtherWork()), BEFORE, PLAN, {}).advance(4)
        second = Shared(lambda number: machine(number + after))
        again = lab.store(second, other_work=OtherWork())
        Series(again, BEFORE, PLAN, {}).advance(4)
        assert stored(lab) == wanted
        assert again.spent_seconds == at_once.spent_seconds


# --- what it has cost -----------------------------------------------------------------------------


def test_what_load_has_cost_is_counted(lab: Lab) -> None:
    store = lab.store(Shared(burst(0, 5)), other_work=OtherWork())
    Series(store, BEFORE, PLAN, {}).advance(3)
    Series(store, Suite("later"), PLAN, {}).advance(3)
    launches = runs.surroundings(lab.db, lab.campaign.id)
    assert other_work.disturbed(launches) == {"before", "before-repeated"}
    undecided = {"verdict": "undecided", "ratio": 1.2}
    table = [
        build.verdict("after", suites=["before"], **undecided),
        build.verdict("after", suites=["later"], **undecided),
        build.verdict("after", suites=["before"], verdict="undecided", ratio=None),
        build.verdict("after", suites=["before"], verdict="holds"),
    ]
    text = other_work.cost(launches, ["before-repeated"], table)
    assert text == (
        "repeating 3 launches took 2 s, and 1 cell measured beside other programs stayed undecided"
    )
    assert other_work.cost(launches, [], []) == ""


SETTINGS = load(None, {"nprocs": 4, "sizes": [64, 4096], "guidelines": ["GL12", "GL13"]})
SLOW = Costs(default={"MPI_Allreduce": lambda _: 3.0})


def test_a_campaign_says_what_load_has_cost(db: Database, tmp_path: Path) -> None:
    machine = Shared(lambda _: BUSY, SLOW)
    done = whole.campaign(db, machine, SETTINGS, tmp_path, other_work=OtherWork())
    found = report.read(db, done.id)
    assert found.cost_of_load.startswith(f"repeating {IN_VAIN} launches took ")
    (line,) = [line for line in digest.summary(found) if "--wait-for-quiet" in line]
    assert found.cost_of_load in line


def test_a_quiet_campaign_says_nothing_of_load(db: Database, tmp_path: Path) -> None:
    machine = Shared(lambda _: QUIET, SLOW)
    done = whole.campaign(db, machine, SETTINGS, tmp_path, other_work=OtherWork())
    found = report.read(db, done.id)
    assert found.cost_of_load == ""
    assert not any("--wait-for-quiet" in line for line in digest.summary(found))


@pytest.mark.parametrize(
    "others", [lambda _: BUSY, lambda number: BUSY if number // 10 % 2 else QUIET]
)
def test_load_costs_a_campaign_less_than_as_much_again(
    fresh_lab: Callable[[], AbstractContextManager[Lab]],
    tmp_path: Path,
    others: Callable[[int], float],
) -> None:
    """In launches and in what they measure, with the same winners and verdicts in the end."""

    def done(machine: Shared) -> tuple[int, int, list[str]]:
        with fresh_lab() as lab:
            found = whole.campaign(lab.db, machine, SETTINGS, tmp_path, other_work=OtherWork())
            ran = runs.listing(lab.db, found.id)
            cases = sum(run.plan.count("\ncase ") for run in ran)
            words: list[str] = [
                one.verdict for one in findings.get_verdicts(lab.db, found.id, "after")
            ]
            return len(ran), cases, words

    quiet, loaded = done(Shared(lambda _: QUIET, SLOW)), done(Shared(others, SLOW))
    assert loaded[0] < 2 * quiet[0] and loaded[1] < 2 * quiet[1]
    assert loaded[2] == quiet[2]


@pytest.mark.parametrize(("others", "launches"), [(QUIET, 2), (BUSY, 4)])
def test_what_is_slower_in_another_use_is_given_up_later_beside_other_work(
    db: Database, tmp_path: Path, others: float, launches: int
) -> None:
    """Two launches beside other work count for one."""
    doubling = "recursive_doubling"
    costs = Costs(
        default={"MPI_Allreduce": lambda _: 3.0},
        algorithm={("MPI_Allreduce", doubling): lambda *_: 0.6},
        where={(doubling, "stream"): 8.0},
    )
    settings = SETTINGS.but(guidelines=["GL12"], launches=6, launches_max=8)
    machine = Shared(lambda _: others, costs)
    done = whole.campaign(db, machine, settings, tmp_path, other_work=OtherWork())
    details = [
        trial.detail
        for search in findings.all_searches(db, done.id)
        for trial in search.trials
        if doubling in trial.knobs.values() and trial.state == "slower"
    ]
    assert details and all(f"in {launches} launches" in detail for detail in details)


def test_a_large_gain_is_found_though_load_leaves_everything_undecided(
    db: Database, tmp_path: Path
) -> None:
    costs = Costs(
        default={"MPI_Allreduce": lambda _: 1.5},
        algorithm={("MPI_Allreduce", "recursive_doubling"): lambda *_: 0.6},
    )
    settings = SETTINGS.but(guidelines=["GL12"], launches=6, launches_max=8)
    machine = Shared(lambda _: BUSY, costs, case_noise=0.25)
    done = whole.campaign(db, machine, settings, tmp_path, other_work=OtherWork())
    table = [one for one in findings.get_verdicts(db, done.id, "before") if one.guideline == "GL12"]
    assert {one.verdict for one in table} == {"undecided"}
    (found,) = findings.get_winners(db, done.id)
    assert "recursive_doubling" in found.configuration.values() and found.speedup > 2
    assert found.removes == []  # nothing was violated for certain


@pytest.mark.parametrize("after", by_default([1, 20], [5, 11, 40]))
def test_an_interrupted_campaign_beside_other_work_comes_out_the_same(
    fresh_lab: Callable[[], AbstractContextManager[Lab]], tmp_path: Path, after: int
) -> None:
    def others(number: int) -> float:
        return BUSY if number * 7 % 10 < 4 else QUIET

    def done(lab: Lab, machine: Shared) -> tuple[list[tuple[str, int]], list[Winner]]:
        found = whole.campaign(lab.db, machine, SETTINGS, tmp_path, other_work=OtherWork())
        ran = runs.listing(lab.db, found.id)
        return sorted((run.suite, run.sequence) for run in ran), findings.get_winners(
            lab.db, found.id
        )

    with fresh_lab() as lab:
        wanted = done(lab, Shared(others, SLOW))
    assert any(name.endswith("repeated") for name, _ in wanted[0]) and wanted[1]
    with fresh_lab() as lab:
        with pytest.raises(Interrupted):
            done(lab, Shared(others, SLOW, stop_after=after))
        assert done(lab, Shared(lambda number: others(number + after), SLOW)) == wanted


# --- waiting --------------------------------------------------------------------------------------


class Machine:
    """What others take, look by look; each look takes a second."""

    def __init__(self, *processors: float | None) -> None:
        self._processors = list(processors)
        self.seconds = 0.0

    def look(self) -> Others | None:
        self.seconds += 1.0
        taken = self._processors.pop(0) if len(self._processors) > 1 else self._processors[0]
        return None if taken is None else Others(taken, [("cc1 (process 7, user anna)", taken)])


def waiting(machine: Machine, seconds: float) -> tuple[OtherWork, list[str]]:
    said: list[str] = []
    work = OtherWork(seconds, look=machine.look, clock=lambda: machine.seconds)
    work.wait(said.append)
    return work, said


def test_it_waits_until_others_have_ended() -> None:
    machine = Machine(*[0.98] * 25, 0.01)
    _, said = waiting(machine, 600.0)
    assert machine.seconds == 26
    assert len(said) == 3  # not at every look
    assert "cc1 (process 7, user anna) 0.98" in said[0] and "599 s at most" in said[0]


def test_it_waits_no_longer_than_it_may() -> None:
    machine = Machine(1.5)
    work, said = waiting(machine, 30.0)
    assert machine.seconds == 30 and "limit of 30 s is used up" in said[-1]
    work.wait(said.append)  # nor the next time
    assert machine.seconds == 30


@pytest.mark.parametrize(("machine", "seconds"), [(Machine(None), 9.0), (Machine(1.5), 0.0)])
def test_it_does_not_wait_unasked_nor_where_nothing_is_known(
    machine: Machine, seconds: float
) -> None:
    assert waiting(machine, seconds)[1] == []


def test_launches_wait_before_the_first_and_before_each_repetition(lab: Lab) -> None:
    machine = Machine(BUSY, BUSY, QUIET, BUSY, QUIET)
    work = OtherWork(600.0, look=machine.look, clock=lambda: machine.seconds)
    Series(lab.store(Shared(burst(1, 1)), other_work=work), BEFORE, PLAN, {}).advance(3)
    assert machine.seconds == 5
    assert ("before-repeated", 1) in stored(lab)


# --- a real busy loop -----------------------------------------------------------------------------


@contextmanager
def busy_loop() -> Iterator[None]:
    loop = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def test_a_real_busy_loop_is_seen() -> None:
    said: list[str] = []
    with busy_loop():
        OtherWork(3.0).wait(said.append)
    assert said and "processors are busy with other work: " in said[0]


@pytest.mark.alone  # its busy loops take the processors of all other tests
@pytest.mark.mpi
def test_a_real_launch_beside_busy_loops_says_so(tmp_path: Path) -> None:
    """Its load is in its record, it was repeated, and the campaign knows that it is not alone."""
    settings = load(None, {"nprocs": 2})
    toolchain, settings, starter = whole.here(settings)
    cases = tuple(PlanCase("MPI_Allreduce", size, reps=1500) for size in (1024, 65536))
    with Database.open(tmp_path / "plumbline.db", write=True) as db, busy_loop(), busy_loop():
        begun = identity.begin(db, toolchain, settings, new=False)
        work = OtherWork()
        store = LaunchStore(db, begun.id, starter, None, work)
        Series(store, BEFORE, msgspec.structs.replace(PLAN, cases=cases, blocks=5), {}).advance(2)
        launches = runs.surroundings(db, begun.id)
        assert not work.is_quiet
        assert [one.suite for one in launches].count("before-repeated") == 2
        assert other_work.disturbed(launches) == {"before", "before-repeated"}
        assert other_work.cost(launches, ["before-repeated"], []).startswith("repeating 2 launches")
