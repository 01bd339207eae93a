"""How many samples a launch has room for."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.filling import MOST_BLOCKS, MOST_REPS, STARTS, Filling
from plumbline_db.cost import LaunchCost

BIG = Plan("", 1, tuple(PlanCase("MPI_Bcast", size) for size in range(1, 101)), blocks=6, reps=4)
SMALL = Plan("", 1, BIG.cases[:2], blocks=6, reps=4)
_START = 0.4


@pytest.mark.parametrize(
    ("times", "reps", "blocks"),
    [
        (1.6, 6, 6),  # first more samples in a block
        (3.0, 12, 6),
        (20.0, 4 * MOST_REPS, 7),  # then more blocks
        (1000.0, 4 * MOST_REPS, int(6 * MOST_BLOCKS)),
        (0.2, 4, 6),  # it takes longer as it is
    ],
)
def test_it_measures_for_a_few_starts(times: float, reps: int, blocks: int) -> None:
    """`times`: the samples of a small launch that there is room for, over those asked for."""
    filling = Filling()
    measuring = STARTS * _START / times * BIG.samples / SMALL.samples
    filling.learn("search", BIG, LaunchCost(_START, measuring))
    filled = filling.filled("search", SMALL)
    assert (filled.reps, filled.blocks) == (reps, blocks)
    assert filling.filled("accept", SMALL) == SMALL  # nothing is known of it yet


def test_the_least_start_counts() -> None:
    filling = Filling()
    for start in (0.9, _START, 2.0):
        filling.learn("search", BIG, LaunchCost(start, 12.0))
    alone = Filling()
    alone.learn("search", BIG, LaunchCost(_START, 12.0))
    assert filling.filled("search", SMALL) == alone.filled("search", SMALL)


def test_cases_with_repetitions_of_their_own_count_as_they_are() -> None:
    case = PlanCase("MPI_Bcast", 8, reps=10)
    assert Plan("", 1, (case, SMALL.cases[0]), blocks=6, reps=4).samples == 6 * 14


@pytest.mark.parametrize(("spread", "precision"), [(0.0, 0.01), (0.015, 0.01), (0.04, 0.02)])
def test_a_case_need_be_no_surer_than_launches_are_alike(spread: float, precision: float) -> None:
    filling = Filling()
    filling.differ(spread)
    asked = msgspec.structs.replace(SMALL, precision=0.01)
    assert filling.filled("search", asked).precision == precision
    assert filling.filled("search", SMALL).precision == 0  # it takes all blocks


def test_cases_that_end_early_leave_room_for_others() -> None:
    """A launch that took half as long as its samples would have has room for twice as many."""
    whole, half = Filling(), Filling()
    whole.learn("search", BIG, LaunchCost(_START, 120.0))
    half.learn("search", BIG, LaunchCost(_START, 60.0))
    assert half.filled("search", SMALL).samples > whole.filled("search", SMALL).samples
