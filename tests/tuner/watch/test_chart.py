"""References and thresholds: by noise, by the number of cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.watch import chart
from plumbline.watch.canary import disturbance, observe, of_launches
from plumbline.watch.chart import (
    FREEDOM,
    GAIN,
    LEAST_LEARNING,
    Baseline,
    CellState,
    DetectorDesign,
    found_change,
    largest_scale,
    run_length,
)


def test_more_cells_have_higher_thresholds() -> None:
    references = np.array([0.8, 1.0, 1.4])
    few, many = (chart.thresholds(DetectorDesign(cells), references) for cells in (20, 200))
    assert (many > few).all()
    assert (np.diff(many) < 0).all()


@given(st.floats(0.8, 8.0), st.integers(1, 500))
@settings(max_examples=15)
def test_thresholds_keep_the_promise_with_a_middle_that_is_wrong(
    reference: float, cells: int
) -> None:
    design = DetectorDesign(cells)
    (limit,) = chart.thresholds(design, np.array([reference]))
    error = Baseline(0.0, 0.02, design.learning).middle_error
    assert run_length(reference - error, float(limit)) >= 0.93 * design.run_length


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=40), st.floats(0.8, 4))
@settings(max_examples=30)
def test_a_sum_never_rises_by_more_than_its_gain(values: list[float], reference: float) -> None:
    before = np.zeros(1)
    for value in values:
        after = chart.step(before, np.array([value]), np.array([reference]))
        assert 0 <= after[0] <= before[0] + GAIN
        before = after


def test_the_smallest_change_that_is_found_grows_with_the_noise() -> None:
    design = DetectorDesign(200)
    found = [found_change(design, Baseline(0.0, scale, 72)) for scale in (0.01, 0.04)]
    assert found == sorted(found)
    assert found[0] < 0.1 < found[1] < math.inf


def test_the_largest_scale_for_a_change() -> None:
    design = DetectorDesign(200)
    scale = largest_scale(design, 0.1)
    assert found_change(design, Baseline(0.0, scale, 72)) <= 0.1
    assert found_change(design, Baseline(0.0, 1.1 * scale, 72)) > 0.1


@pytest.mark.parametrize("count", [10, 40])
def test_quiet_canaries_are_not_disturbed(count: int) -> None:
    noise = np.random.default_rng(1).standard_t(FREEDOM, (8_000, count))
    assert (disturbance(noise) > 1).mean() == pytest.approx(0.05, abs=0.015)
    assert (disturbance(4 * noise) > 1).mean() > 0.9
    assert disturbance(noise[0, :5]) == 0


def test_launches_of_a_canary() -> None:
    assert of_launches(np.array([[1.0], [2.0], [3.0]])) == [2.0]
    assert of_launches(np.array([0.0, 0.01, 0.02, 0.03, 9.0])) < 0.05
    assert of_launches(np.array([0.7])) == 0.7


@pytest.mark.parametrize(
    "wrong", [{"cells": 0}, {"canaries": 0}, {"false_alarms": 0}, {"learning": 19}]
)
def test_designs_that_promise_nothing(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        DetectorDesign(**{"cells": 200, **wrong})


DESIGN = DetectorDesign(cells=200, learning=40, launches=2, launches_max=12)
REFERENCES = [f"reference {n}" for n in range(12)]


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(2, 12, [2, 4, 8, 12]), (3, 3, [3]), (1, 4, [1, 2, 4]), (5, 2, [5]), (2, 4, [2, 4])],
)
def test_launches_double_up_to_the_most(least: int, most: int, expected: list[int]) -> None:
    design = DetectorDesign(cells=200, launches=least, launches_max=most)
    assert chart.steps(design) == expected


def test_a_cell_never_has_fewer_launches_than_the_design_or_more_than_its_most() -> None:
    assert chart.launches_of(DESIGN, CellState()) == 2
    assert chart.launches_of(DESIGN, CellState(launches=8)) == 8
    assert chart.launches_of(DESIGN, CellState(launches=100)) == 12


@pytest.mark.parametrize(("times", "expected"), [(0.5, 2), (1.0, 2), (1.3, 4), (1.9, 8), (9, 12)])
def test_launches_go_with_the_square_of_the_noise(times: float, expected: int) -> None:
    scales = np.array([times * largest_scale(DESIGN)])
    assert chart.sized(DESIGN, np.array([2]), scales).tolist() == [expected]
    assert chart.sized(DESIGN, np.array([12]), scales).tolist() == [12]


def canaries(noise: float, count: int, change: float = 0.0, seed: int = 1) -> CellState:
    """Return what is known of a cell of so much noise a launch, beside quiet references."""
    rng, states = np.random.default_rng(seed), dict[str, CellState]()
    alarms = 0
    for number in range(count):
        launches = chart.launches_of(DESIGN, states.get("cell", CellState()))
        off = change if number >= count - 6 else 0.0
        shared = rng.normal(0, 0.3, launches)
        canary = {
            key: list(shared + rng.normal(off if key == "cell" else 0.0, width, launches))
            for key, width in [("cell", noise), *((key, 0.01) for key in REFERENCES)]
        }
        seen = observe(DESIGN, states, canary, REFERENCES)
        states, alarms = seen.states, alarms + ("cell" in seen.alarms)
    assert alarms == (1 if change else 0)
    return states["cell"]


def test_a_noisy_cell_learns_anew_by_more_launches() -> None:
    before = canaries(0.1, LEAST_LEARNING - 1)
    assert len(before.learning) == LEAST_LEARNING - 1 and before.launches == 0
    after = canaries(0.1, LEAST_LEARNING)
    assert after.learning == () and after.launches > DESIGN.launches
    quiet = canaries(0.01, LEAST_LEARNING)
    assert len(quiet.learning) == LEAST_LEARNING and quiet.launches == 0


def test_what_is_too_noisy_at_the_end_of_learning_learns_anew_too() -> None:
    """The first canaries of the cell lie close together by chance."""
    assert len(canaries(0.05, LEAST_LEARNING).learning) == LEAST_LEARNING
    assert canaries(0.05, DESIGN.learning).launches > DESIGN.launches


def test_what_was_learnt_keeps_its_launches_and_ten_per_cent_are_found() -> None:
    state = canaries(0.05, 5 * DESIGN.learning)
    assert state.baseline is not None and state.launches > DESIGN.launches
    assert state.rested().launches == state.launches
    canaries(0.05, 5 * DESIGN.learning, change=math.log(1.1))
