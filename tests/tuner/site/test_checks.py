"""Tests of what the checks of a site conclude about guidelines, without ranks."""

from __future__ import annotations

from plumbline.core.cell import Target
from plumbline.site.checks import CheckedLayout, over_mockups
from plumbline.site.layouts import RankLayout
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Case, Medians

SMALL, MIDDLE, LARGE, ALONE = (Target("MPI_Gather", size) for size in (64, 1024, 16384, 65536))


def compared(ratio: float) -> Comparison:
    """Return the time with the files over the time without them."""
    return Comparison(ratio=ratio, low=ratio, high=ratio, p=1.0, n=1, reason="")


def medians(cell: Target, variant: str, *seconds: float) -> Medians:
    case = Case(
        function=cell.function,
        variant=variant,
        knobs={},
        config="",
        bytes=cell.bytes,
        type="MPI_BYTE",
        op="",
        root=0,
    )
    return Medians(case, list(range(len(seconds))), list(seconds))


def test_violations_before_and_after() -> None:
    """The small one is removed, the middle one stays, and the large one never was."""
    checked = CheckedLayout(
        layout=RankLayout(4, 1),
        cells=frozenset([SMALL, MIDDLE, LARGE, ALONE]),
        slower=frozenset(),
        lost=frozenset(),
        ratios={
            SMALL: compared(0.5),
            MIDDLE: compared(0.9),
            LARGE: compared(1.0),
            ALONE: compared(0.5),
        },
        mockups={SMALL: 0.8, MIDDLE: 1.3, LARGE: 1.04},
    )
    assert checked.violated(1.05) == ({SMALL, MIDDLE}, {MIDDLE})


def test_the_fastest_right_hand_side_counts_in_launches_that_have_both() -> None:
    times = [
        medians(SMALL, "default", 2.0, 4.0, 9.0),
        medians(SMALL, "gather_as_gatherv", 1.0, 2.0),
        medians(SMALL, "gather_as_reduce", 4.0, 8.0),
        medians(LARGE, "default", 1.0),
    ]
    assert over_mockups(times) == {SMALL: 2.0}
