"""The picture of a campaign: tables before and after, and the function that gained most."""

from __future__ import annotations

import re

import msgspec
import pytest

from plumbline.explain import picture
from plumbline.explain.explain import Explanation, Point
from plumbline.explain.picture import GuidelinePanel, SidePoint, Tables
from plumbline.system import chart
from plumbline.system.chart import DARK, LIGHT, Palette
from plumbline_db.records import Verdict

BCAST, SCAN = "MPI_Bcast", "MPI_Scan"


def verdict(function: str, size: int, state: str, ratio: float = 1.0, **more: object) -> Verdict:
    known = {
        "stage": "before", "guideline": "GL1", "kind": "pattern", "function": function,
        "rhs": "x", "nprocs": 2, "ppn": 2, "bytes": size, "other_bytes": 0, "factor": 1,
        "verdict": state, "ratio": ratio, "ratio_low": None, "ratio_high": None, "p": None,
        "p_adjusted": None, "launches": 9, "reason": "", "suites": [],
    }  # fmt: skip
    return msgspec.convert(known | more, Verdict)


BEFORE = [
    verdict(BCAST, 4, "holds"),
    verdict(BCAST, 4, "violated", 1.1, guideline="GL2"),
    verdict(BCAST, 1024, "violated", 1.5),
    verdict(SCAN, 4, "violated", 3.0),
    verdict(SCAN, 1024, "violated", 9.0),
]
AFTER = [
    verdict(BCAST, 4, "holds"),
    verdict(BCAST, 1024, "undecided"),
    verdict(SCAN, 4, "holds"),
    verdict(SCAN, 1024, "violated", 2.0),
]


def tables(after: list[Verdict] | None = AFTER) -> Tables:
    points = [Point(name, size, 1e-5, 2e-6) for name in (BCAST, SCAN) for size in (4, 1024)]
    found = Explanation(None, [], points, 0, None, None, 0, 0)
    tuned = {BCAST: {4: 1e-5, 1024: 9e-6}, SCAN: {4: 5e-6, 1024: 5e-6}}
    return Tables("a campaign", BEFORE, after, found, tuned if after else {})


def states(svg: str, panel: int) -> dict[tuple[str, int], str]:
    """The states of the cells of a panel, as the picture names them to a reader of screens."""
    marks = re.findall(r'aria-label="bytes: (\d+); function: (\w+); state: ([^"]*)"', svg)
    mine = marks[:4] if panel == 0 else marks[4:]
    return {(function, int(size)): state for size, function, state in mine}


def test_each_cell_has_the_colour_of_its_worst_guideline() -> None:
    svg = chart.render(picture.before_after_specification([tables()]))
    assert states(svg, 0) == {
        (BCAST, 4): "too slow: up to 1.25 ×",
        (BCAST, 1024): "up to 2 ×",
        (SCAN, 4): "up to 4 ×",
        (SCAN, 1024): "more",
    }
    assert states(svg, 1) == {
        (BCAST, 4): "holds",
        (BCAST, 1024): "undecided",
        (SCAN, 4): "holds",
        (SCAN, 1024): "up to 4 ×",
    }
    assert "before: 4 violations" in svg and "with the winners: 1 violation<" in svg


def test_the_curve_is_of_the_function_that_gained_most() -> None:
    svg = chart.render(picture.before_after_specification([tables()]))
    assert ">MPI_Scan<" in svg and ">MPI_Bcast<" not in svg
    for series in ("default", "winner", "lower bound with messages"):
        assert f"series: {series};" in svg
    microseconds = re.findall(r"run time, µs: ([\d.]+); series: winner", svg)
    assert {float(one) for one in microseconds} == {5.0}


def test_a_campaign_under_way_has_one_table_and_no_curve() -> None:
    svg = chart.render(picture.before_after_specification([tables(after=None)]))
    assert "before: 4 violations" in svg and "winner" not in svg and "run time" not in svg


def test_several_campaigns_stand_below_each_other() -> None:
    svg = chart.render(picture.before_after_specification([tables(), tables(after=None)]))
    assert svg.count(">before: 4 violations<") == 2 and "run time" not in svg


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_texts_stand_out_from_their_ground(palette: Palette) -> None:
    svg = chart.render(picture.before_after_specification([tables()], palette))
    fills = set(re.findall(r'<text[^>]* fill="(#\w+)"', svg))
    assert fills == {palette.text}
    assert contrast(palette.text, palette.ground) >= 7
    for line in (palette.default, palette.winner, palette.steps[-1]):
        assert contrast(line, palette.ground) >= 3


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG 2 defines it."""
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_both_sides_of_a_guideline_stand_beside_each_other() -> None:
    """Two panels with both sides each; stars and a ground where it is violated, before alone."""
    points = [
        SidePoint(side, size, us, us - 1, us + 1)
        for side, size, us in (("Gather", 4, 9.0), ("Gather", 64, 20.0), ("as", 4, 5.0))
    ]
    panels = [
        GuidelinePanel("before", points, {4: "**"}),
        GuidelinePanel("with the winners", points, {}),
    ]
    svg = chart.render(picture.guideline_specification({"GL3": panels}, ["a library"]))
    for text in ("before", "with the winners", "GL3", "Gather", "as"):
        assert f">{text}</text>" in svg or f">{text}</tspan>" in svg, text
    assert svg.count(">**<") == 1
    assert svg.count(LIGHT.steps[0]) == 1
    assert svg.count('aria-label="bytes: 64; run time, µs: 20; side: Gather"') == 2
