"""The picture of an explanation, as it is drawn."""

from __future__ import annotations

import math
import re

from plumbline.explain import picture
from plumbline.explain.explain import Explained, Explanation, Point, Priced, Won
from plumbline.system import chart

ALLREDUCE = "MPI_Allreduce"


def priced(name: str, microseconds: float | None) -> Priced:
    seconds = None if microseconds is None else microseconds * 1e-6
    return Priced(name, seconds, None, None, None, None, None, None, None)


def cell(function: str, size: int, winner: float | None) -> Explained:
    """`winner`: its microseconds, None where it was not measured at that size."""
    won = Won("ring", 9e-6, 1.5, 1.4, 1.6)
    tried = [priced("ring", winner), priced("linear", 30)]
    return Explained(function, 4, size, 2e-5, [], [], "time", won, None, None, None, None, tried)


def drawn(function: str, cells: list[Explained], sizes: list[int]) -> str:
    curves = [Point(function, size, 2e-5, None) for size in sizes]
    found = Explanation(None, cells, curves, 0, None, None, 0, 0)
    return chart.render(picture.specification(found, ["title"]))


def places(svg: str, series: str) -> dict[int, float]:
    """Where the points of a series are drawn, by bytes."""
    marks = re.findall(
        rf'aria-label="bytes: (\d+);[^"]*series: {series};[^"]*"[^>]*'
        r'aria-roledescription="point" transform="translate\(([-0-9.e]+),',
        svg,
    )
    return {int(size): float(x) for size, x in marks}


def line_ends(svg: str, series: str) -> list[tuple[float, float]]:
    """From where to where the lines of a series are drawn; what is one point is no line."""
    paths = re.findall(
        rf'series: {series};[^"]*"[^>]*aria-roledescription="line mark" d="([^"]*)"', svg
    )
    ends = []
    for path in paths:
        xs = [float(x) for x in re.findall(r"[ML]([-0-9.]+),", path)]
        if len(xs) > 1:
            ends.append((xs[0], xs[-1]))
    return ends


def test_equal_factors_are_equally_far_apart() -> None:
    svg = drawn(ALLREDUCE, [cell(ALLREDUCE, 4096, 10)], [1024, 4096, 5000, 8192])
    found = places(svg, "default")
    octave = found[8192] - found[4096]
    assert math.isclose(found[4096] - found[1024], 2 * octave)
    assert math.isclose((found[5000] - found[4096]) / octave, math.log2(5000 / 4096), rel_tol=1e-6)
    assert "4 Ki" in svg


def test_the_winners_line_ends_where_no_size_was_measured() -> None:
    cells = [cell(ALLREDUCE, size, 10) for size in (1024, 2048, 16384, 32768)]
    svg = drawn(ALLREDUCE, cells, [1024, 2048, 4096, 8192, 16384, 32768])
    found = places(svg, "winner")
    assert set(found) == {1024, 2048, 16384, 32768}
    pieces = line_ends(svg, "winner")
    expected = [(found[1024], found[2048]), (found[16384], found[32768])]
    assert len(pieces) == 2
    for piece, ends in zip(pieces, expected, strict=True):
        assert all(math.isclose(*pair, abs_tol=0.01) for pair in zip(piece, ends, strict=True))
    assert len(line_ends(svg, "other candidates")) == 2
    assert len(line_ends(svg, "default")) == 1


def test_a_winner_that_was_not_measured_at_a_size_has_no_point_there() -> None:
    cells = [cell(ALLREDUCE, 1024, 10), cell(ALLREDUCE, 2048, None)]
    svg = drawn(ALLREDUCE, cells, [1024, 2048])
    assert set(places(svg, "winner")) == {1024}
    assert line_ends(svg, "winner") == []


def test_a_call_without_bytes_is_drawn() -> None:
    svg = drawn("MPI_Barrier", [cell("MPI_Barrier", 0, 10)], [0])
    assert set(places(svg, "winner")) == set(places(svg, "default")) == {0}
