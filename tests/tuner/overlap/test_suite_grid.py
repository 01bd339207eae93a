"""Adaptive grids on planes that are known: what is not measured is what it would have been, and
steps are found where they are."""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.overlap import suite
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import Index

COLUMNS, ROWS = 33, 23  # as by default
Plane = Callable[[int, int], Ratio | None]


def told(value: float, *, noisy: bool = False, wide: float = 0.0, longer: bool = False) -> Ratio:
    communication = 2e-5 if longer else 1e-5
    return Ratio(communication, 1.5e-5, 2e-5, value, value - wide, value + wide, noisy)


def measured(
    plane: Plane, columns: int = COLUMNS, rows: int = ROWS
) -> tuple[dict[Index, list[Ratio | None]], int]:
    """Every stage until nothing is missing; how many there were."""
    seen: dict[Index, list[Ratio | None]] = {}
    stages = 0
    while missing := suite.missing_cells(columns, rows, seen):
        assert not set(missing) & set(seen)
        seen |= {cell: [plane(*cell)] for cell in missing}
        stages += 1
    return seen, stages


def whole(plane: Plane, columns: int = COLUMNS, rows: int = ROWS) -> int:
    """That every cell is known once, in so many stages as the suite has, and how many of them were
    measured; what is inferred may be wrong by the 0.1 that no colour shows."""
    seen, stages = measured(plane, columns, rows)
    assert stages <= suite.STAGES
    found = suite.inferred_cells(columns, rows, seen)
    assert not set(found) & set(seen) and len(found) + len(seen) == columns * rows
    for cell, (one,) in found.items():
        true = plane(*cell)
        assert (one is None) == (true is None), cell
        if one is not None and true is not None:
            assert one.noisy == true.noisy
            assert one.noisy or abs(one.value - true.value) <= 0.1, cell
    return len(seen)


@settings(max_examples=40)
@given(st.integers(0, COLUMNS), st.integers(0, ROWS))
def test_a_step_at_a_size_and_one_at_an_amount_of_work(column: int, row: int) -> None:
    """Both sides of each step are measured, next to each other: found within a factor of √2."""

    def plane(x: int, y: int) -> Ratio:
        return told(1.0 * (x >= column) + 0.5 * (y >= row))

    assert whole(plane) < 0.7 * COLUMNS * ROWS
    seen, _ = measured(plane)
    for y in range(ROWS):
        if 0 < column < COLUMNS and y % 4 == 0:
            assert {(column - 1, y), (column, y)} <= set(seen)


@given(st.integers(0, COLUMNS - 2))
def test_a_band_of_two_sizes(column: int) -> None:
    whole(lambda x, y: told(1.0 * (column <= x < column + 2)))


@settings(max_examples=40)
@given(st.floats(-4, 40), st.floats(0.05, 3), st.floats(0, 1))
def test_a_smooth_plane(middle: float, steep: float, tilt: float) -> None:
    def plane(x: int, y: int) -> Ratio:
        return told(1 / (1 + math.exp(-steep * (x + tilt * y - middle))))

    whole(plane)


@settings(max_examples=40)
@given(st.floats(-30, 40))
def test_the_line_of_equal_times_is_followed(offset: float) -> None:
    """Though the ratio is the same on both sides."""

    def plane(x: int, y: int) -> Ratio:
        return told(0.5, longer=x - y > offset)

    seen, _ = measured(plane)
    assert whole(plane) < 0.6 * COLUMNS * ROWS
    for y in range(ROWS):
        for x in range(COLUMNS - 1):
            if plane(x, y).communication != plane(x + 1, y).communication:
                assert {(x, y), (x + 1, y)} & set(seen)


def test_where_nothing_changes_one_cell_of_seven_is_measured() -> None:
    assert whole(lambda x, y: told(0.3)) == 9 * 7 + 8 * 6
    assert whole(lambda x, y: told(0.3 + x * y, noisy=True)) == 9 * 7 + 8 * 6
    assert whole(lambda x, y: None) == 9 * 7 + 8 * 6


def test_what_says_nothing_is_not_joined_with_what_does() -> None:
    """Noise above a line: its edge is measured."""

    def plane(x: int, y: int) -> Ratio:
        return told(0.5, noisy=y > 9)

    assert whole(plane) < 0.5 * COLUMNS * ROWS
    seen, _ = measured(plane)
    assert {(0, 9), (0, 10)} <= set(seen)


def test_intervals_that_meet_agree_unless_a_colour_shows() -> None:
    few = 9 * 7 + 8 * 6
    for apart, wide, settled in ((0.15, 0.1, True), (0.15, 0.01, False), (0.5, 0.6, False)):
        seen, _ = measured(lambda x, y, a=apart, w=wide: told(a * (x % 8 >= 4), wide=w))
        assert (len(seen) == few) == settled


def test_every_rank_must_agree() -> None:
    missing = suite.missing_cells(5, 5, {})
    seen = {cell: [told(0.0), told(float(cell[0] > 2))] for cell in missing}
    assert suite.missing_cells(5, 5, seen)
    seen = {cell: [told(0.0), told(1.0)] for cell in missing}
    assert not suite.missing_cells(5, 5, seen)
    found = suite.inferred_cells(5, 5, seen)
    assert [one and one.value for one in found[1, 1]] == [0.0, 1.0]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 12))
def test_grids_of_any_shape(columns: int, rows: int, step: int) -> None:
    whole(lambda x, y: told(1.0 * (x + y >= step)), columns, rows)


def test_what_is_inferred_lies_between_its_corners() -> None:
    """Times geometrically, as the axes go; the whole agrees with the ratio."""

    def plane(x: int, y: int) -> Ratio:
        return Ratio(1e-6 * 2**x, 1e-3 * 2**y, 0.0, 0.02 * x, 0.02 * x - 0.1, 0.02 * x + 0.1, False)

    seen, _ = measured(plane, 5, 5)
    (one,) = suite.inferred_cells(5, 5, seen)[1, 3]
    assert one is not None and math.isclose(one.communication, 2e-6)
    assert math.isclose(one.computation, 8e-3) and math.isclose(one.value, 0.02)
    assert math.isclose(one.both, 8e-3 + 0.02 * 2e-6)
    assert (one.low, one.high) == (-0.1, 0.18)
