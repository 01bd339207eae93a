"""Canary by canary: a planted change is found, nothing else is; what is stored is all there is."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from plumbline.watch.canary import observe
from plumbline.watch.chart import LEAST_CANARIES, LEAST_LEARNING, CellState
from tests.tuner.watch.canaries import CELLS, DESIGN, REFERENCES, Machine

SLOWER = math.log(1.1)


@pytest.mark.parametrize("launches", [1, 3])
def test_a_planted_change_is_found(launches: int) -> None:
    machine = Machine(launches=launches).learnt()
    alarms = [machine.next({"cell 3": SLOWER}).alarms for _ in range(8)]
    first = next(one for one in alarms if one)
    assert alarms.index(first) < 6
    assert list(first) == ["cell 3"]
    assert first["cell 3"].direction == "slower"
    assert first["cell 3"].ratio == pytest.approx(1.1, abs=0.03)
    assert LEAST_CANARIES <= first["cell 3"].canaries <= 6


def test_a_cell_that_became_faster_is_told_as_such() -> None:
    machine = Machine().learnt()
    found = [machine.next({"cell 0": -SLOWER}).alarms for _ in range(8)]
    (alarm,) = next(one for one in found if one).values()
    assert alarm.direction == "faster"
    assert alarm.ratio == pytest.approx(1 / 1.1, abs=0.03)


def test_without_a_change_nothing_is_told() -> None:
    machine = Machine(seed=2).learnt()
    assert not any(machine.next().alarms for _ in range(200))


def test_what_all_cells_share_is_no_change() -> None:
    machine = Machine(seed=3).learnt()
    for _ in range(30):
        watched = machine.next(shared=math.log(3))
        assert not watched.alarms
    assert all(state.slower.sum < 3 for state in machine.states.values())


def test_one_launch_that_is_far_out_is_no_change() -> None:
    machine = Machine(seed=4).learnt()
    assert not machine.next({"cell 1": math.log(100)}).alarms
    assert machine.states["cell 1"].slower.sum < 2
    assert not any(machine.next().alarms for _ in range(20))
    assert machine.states["cell 1"].slower.sum == 0


def test_fewer_canaries_than_the_least_never_suffice() -> None:
    machine = Machine(seed=5).learnt()
    for _ in range(LEAST_CANARIES - 1):
        assert not machine.next({"cell 1": math.log(100)}).alarms
    assert any(machine.next({"cell 1": math.log(100)}).alarms for _ in range(2))


def test_a_busy_machine_is_no_change() -> None:
    """Each cell slower by a factor of its own, for some canaries; cells beside the references stand
    out as much as these do."""
    machine = Machine(seed=6).learnt()
    rng = np.random.default_rng(7)
    own = {key: float(rng.normal(0.4, 0.15)) for key in [*REFERENCES, *CELLS]}
    before = machine.states
    for _ in range(10):
        watched = machine.next(own)
        assert not watched.counts and not watched.alarms
        assert watched.disturbance is not None and watched.disturbance > 1
    assert machine.states == before
    assert not any(machine.next().alarms for _ in range(20))


def test_a_busy_machine_is_not_learnt() -> None:
    machine = Machine(seed=8)
    for _ in range(25):
        machine.next()
    before = machine.states
    rng = np.random.default_rng(7)
    for _ in range(5):
        machine.next({key: float(rng.normal(0.4, 0.15)) for key in [*REFERENCES, *CELLS]})
    assert machine.states == before


def test_without_references_a_canary_does_not_count() -> None:
    machine = Machine().learnt()
    canary = {key: [0.5] for key in [*REFERENCES[:9], *CELLS]}
    watched = observe(DESIGN, machine.states, canary, REFERENCES)
    assert watched.disturbance is None and not watched.counts
    assert watched.states == machine.states


def test_a_cell_that_was_not_measured_stays_as_it_is() -> None:
    machine = Machine().learnt()
    for _ in range(3):
        machine.next({"cell 2": SLOWER})
    canary = {key: [0.0] for key in [*REFERENCES, *CELLS] if key != "cell 2"}
    watched = observe(DESIGN, machine.states, canary, REFERENCES)
    assert watched.counts
    assert watched.states["cell 2"] == machine.states["cell 2"]
    assert watched.states["cell 2"].slower.canaries == 3


def test_a_restart_goes_on_where_it_ended() -> None:
    """Through JSON after every canary, as a database would keep it."""
    whole, restarted = Machine(seed=9), Machine(seed=9)
    for number in range(60):
        change = {"cell 4": SLOWER} if number > 50 else {}
        expected = whole.next(change)
        found = restarted.next(change)
        assert found == expected
        text = msgspec.json.encode(restarted.states)
        restarted.states = msgspec.json.decode(text, type=dict[str, CellState])
        assert restarted.states == whole.states


def test_states_that_went_in_are_not_changed() -> None:
    machine = Machine(seed=10).learnt()
    before = dict(machine.states)
    kept = msgspec.json.encode(before)
    observe(DESIGN, before, {key: [0.1] for key in [*REFERENCES, *CELLS]}, REFERENCES)
    assert msgspec.json.encode(before) == kept


def test_after_an_alarm() -> None:
    machine = Machine(seed=11).learnt()
    change = {"cell 5": math.log(1.3)}
    alarms = [number for number in range(12) if machine.next(change).alarms]
    assert len(alarms) >= 2  # it comes again while nobody does anything about it
    machine.next(change)
    state = machine.states["cell 5"]
    assert state.slower.sum > 0
    assert state.rested() == CellState(state.learning, state.baseline)
    machine.states["cell 5"] = CellState()  # confirmed: it is learnt anew as it is now
    for _ in range(DESIGN.learning + 20):
        assert not machine.next(change).alarms
    baseline = machine.states["cell 5"].baseline
    assert baseline is not None and baseline.middle == pytest.approx(math.log(1.3), abs=0.02)


def test_no_cells_at_all() -> None:
    assert observe(DESIGN, {}, {}, []).disturbance is None


def test_learning_that_ends_early_leaves_what_is_known_by_then() -> None:
    early = CellState((0.01,) * (LEAST_LEARNING - 1), launches=4)
    assert early.learnt_so_far() == CellState(launches=4)
    enough = CellState((0.01, 0.02) * (LEAST_LEARNING // 2), launches=4)
    known = enough.learnt_so_far()
    assert known.baseline == enough.known() and (known.learning, known.launches) == ((), 4)
    assert known.learnt_so_far() == known
