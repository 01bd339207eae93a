"""Refinement: which points are asked for; a planted threshold is found with few of them."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.measure import refine
from plumbline.measure.refine import CurveValue, Refinement, SweptCurve, grid, proposals, thresholds
from tests.bench.refinement import THRESHOLD, Planted, compared

SURE = 0.001


def curve(points: dict[int, float], name: str = "a", half: float = SURE) -> SweptCurve:
    """Of seconds by place."""
    return SweptCurve(name, {at: CurveValue(math.log(s), half) for at, s in points.items()})


def against(ratios: dict[int, float], half: float = SURE) -> list[SweptCurve]:
    first = curve(dict.fromkeys(ratios, 1e-6), "first")
    other = {at: CurveValue(math.log(ratio), half) for at, ratio in ratios.items()}
    return [first, SweptCurve("other", curve(dict.fromkeys(ratios, 1e-6)).points, other)]


def test_a_straight_line_asks_for_nothing() -> None:
    assert proposals([curve({4**power: 1e-6 * 2**power for power in range(8)})], Refinement()) == []


def test_a_jump_is_bisected_to_the_resolution() -> None:
    points = {4**power: 3e-6 * (1 if 4**power < 5000 else 4) for power in range(2, 10)}
    how = Refinement()
    for _ in range(10):
        asked = proposals([curve(points)], how)
        if not asked:
            break
        assert [each.why for each in asked] == ["jump"]
        points |= {each.place: 3e-6 * (1 if each.place < 5000 else 4) for each in asked}
    (found,) = thresholds([curve(points)], how)
    assert found.low < 5000 <= found.high <= 1.05 * found.low
    assert found.factor == pytest.approx(4, rel=0.1)


def test_a_bend_asks_for_a_point_where_it_is() -> None:
    points = {4**power: 3e-6 + 4**power * 1e-9 for power in range(2, 11)}
    (first, *_) = proposals([curve(points)], Refinement(error=0.04))
    assert first.why == "curvature"
    assert 1024 <= first.place <= 16384  # both parts are equal at 3000


def test_noise_asks_for_nothing() -> None:
    points = {4**power: 3e-6 * (1 if power % 2 else 1.1) for power in range(2, 10)}
    assert proposals([curve(points)], Refinement()) != []
    assert proposals([curve(points, half=0.2)], Refinement()) == []


def test_overlapping_intervals_are_no_jump() -> None:
    """Two intervals of 3 % each side overlap where the ends are 5 % apart."""
    how = Refinement(error=0.01, resolution=0.01)
    points = {1000: 1e-6, 1400: 1e-6, 1900: 1.05e-6, 2600: 1.05e-6}
    assert thresholds([curve(points, half=0.03)], how) == []
    assert [each.low for each in thresholds([curve(points, half=0.02)], how)] == [1400]


def test_a_crossover_is_looked_for_where_a_straight_line_has_it() -> None:
    (found,) = proposals(against({64: 0.5, 1024: 0.5, 16384: 4.0, 262144: 4.0}), Refinement())
    assert (found.why, found.place) == ("crossover", round(1024 * 16 ** (1 / 3)))


def test_an_undecided_place_between_ends_the_search_of_a_crossover() -> None:
    assert proposals(against({64: 0.5, 1024: 0.99, 16384: 2.0}, half=0.1), Refinement()) == []


def test_no_more_places_than_allowed() -> None:
    points = {4**power: 3e-6 * 5 ** (power % 2) for power in range(2, 10)}
    assert len(proposals([curve(points)], Refinement(most=10))) == 2
    assert proposals([curve(points)], Refinement(most=8)) == []


@given(
    st.dictionaries(st.integers(0, 2**31), st.floats(1e-9, 1e3), max_size=12),
    st.floats(0, 1),
    st.sampled_from([1, 4, 16, 1000]),
)
def test_what_is_proposed_can_be_measured(points: dict[int, float], half: float, unit: int) -> None:
    how = Refinement(unit=unit)
    found = proposals([curve(points, half=half)], how)
    for each in found:
        assert min(points) < each.place < max(points)
        assert each.place not in points and each.place % unit == 0 and each.gain > 0
    thresholds([curve(points, half=half)], how)


@given(
    st.integers(0, 2**20), st.integers(0, 2**20), st.integers(1, 40), st.sampled_from([1, 8]),
    st.sampled_from(["linear", "logarithmic"]),
)  # fmt: skip
def test_a_grid_has_its_ends(low: int, more: int, points: int, unit: int, scale: str) -> None:
    found = grid(low, low + more, points, scale=scale, unit=unit)
    assert found == sorted(set(found))
    assert (found[0], found[-1]) == (low, low + more)
    assert len(found) <= max(points, 2)


def test_grids() -> None:
    assert grid(1, 1024, 11, scale="logarithmic") == [2**power for power in range(11)]
    assert grid(2, 10, 5, scale="linear") == [2, 4, 6, 8, 10]
    assert grid(2, 3, 9, scale="linear") == [2, 3]


def test_an_estimate_of_few_launches_is_as_wide_as_they_are() -> None:
    few = refine.estimate([1.0, 2.0])
    assert few == (math.log(1.5), math.log(2) / 2)
    assert refine.estimate([2.0] * 8) == (math.log(2), 0)


@pytest.mark.parametrize("noise", [0.02, 0.04])
def test_a_planted_threshold_is_found_with_half_the_points_of_a_grid(noise: float) -> None:
    """Within 5 %, with at most half as many points as by the square root of two, at no larger an
    error of interpolation: over forty draws of noise."""
    runs = [compared(Planted(noise, random.Random(seed))) for seed in range(40)]
    assert all(run.low < THRESHOLD <= run.high <= 1.06 * run.low for run in runs)
    found = [math.sqrt(run.low * run.high) for run in runs]
    assert all(0.95 * THRESHOLD <= place <= 1.05 * THRESHOLD for place in found)
    assert max(run.points for run in runs) <= 0.5 * runs[0].grid_points
    assert statistics.mean(run.error / run.grid_error for run in runs) <= 1
