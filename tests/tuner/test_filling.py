"""How many blocks a launch has room for."""

from __future__ import annotations

import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.filling import MOST, Filling
from plumbline_db.cost import LaunchCost

BIG = Plan("", 1, tuple(PlanCase("MPI_Bcast", size) for size in range(1, 101)), blocks=6, reps=4)
SMALL = Plan("", 1, BIG.cases[:2], blocks=6, reps=4)


@pytest.mark.parametrize(
    ("measuring", "blocks"),
    [
        (12.0, 10),  # a block of a case takes 20 ms, so that 10 of two cases take 0.4 s
        (60.0, 6),  # it takes longer as it is
        (0.1, MOST * 6),
    ],
)
def test_it_measures_for_as_long_as_it_starts(measuring: float, blocks: int) -> None:
    filling = Filling()
    filling.learn("search", BIG, LaunchCost(0.4, measuring))
    assert filling.filled("search", SMALL).blocks == blocks
    assert filling.filled("accept", SMALL) == SMALL  # nothing is known of it yet


def test_the_least_start_counts() -> None:
    filling = Filling()
    for start in (0.9, 0.4, 2.0):
        filling.learn("search", BIG, LaunchCost(start, 12.0))
    assert filling.filled("search", SMALL).blocks == 10
