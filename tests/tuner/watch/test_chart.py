"""References and thresholds: by noise, by the number of cells."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.watch import chart
from plumbline.watch.canary import disturbance, of_launches
from plumbline.watch.chart import (
    FREEDOM,
    GAIN,
    Baseline,
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
