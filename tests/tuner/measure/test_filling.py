"""How many samples a launch has room for."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.launches import MOST_BLOCKS, MOST_REPS, STARTS, Filling
from plumbline_db.cost import LaunchCost

BIG = Plan("", 1, tuple(PlanCase("MPI_Bcast", size) for size in range(1, 101)), blocks=6, reps=4)
SMALL = msgspec.structs.replace(BIG, cases=BIG.cases[:2])
_START = 0.4
_CALL = 1e-4


def cost(plan: Plan, measuring: float, *, start: float = _START, share: float = 1.0) -> LaunchCost:
    """A launch whose cases took this share of their blocks, _CALL a call."""
    timed = {
        number: (int(share * plan.blocks * plan.calls_of_a_block(case)), _CALL)
        for number, case in enumerate(plan.cases)
    }
    return LaunchCost(start, measuring, timed)


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
    assert filling.filled("search", SMALL) == SMALL  # nothing is known yet
    measuring = STARTS * _START / times * len(BIG.cases) / len(SMALL.cases)
    filling.learn("search", BIG, cost(BIG, measuring))
    for kind in ("search", "accept"):
        filled = filling.filled(kind, SMALL)
        assert (filled.reps, filled.blocks) == (reps, blocks)


def test_the_least_start_counts() -> None:
    filling = Filling()
    for start in (0.9, _START, 2.0):
        filling.learn("search", BIG, cost(BIG, 12.0, start=start))
    alone = Filling()
    alone.learn("search", BIG, cost(BIG, 12.0))
    assert filling.filled("search", SMALL) == alone.filled("search", SMALL)


def test_ranks_that_were_alive_already_say_nothing_of_starts() -> None:
    visited = msgspec.structs.replace(cost(BIG, 12.0), start=None)
    filling = Filling()
    filling.learn("search", BIG, visited)
    assert filling.filled("search", SMALL) == SMALL
    filling.learn("search", BIG, cost(BIG, 12.0))
    filling.learn("search", BIG, visited)
    alone = Filling()
    alone.learn("search", BIG, cost(BIG, 12.0))
    assert filling.filled("search", SMALL) == alone.filled("search", SMALL) != SMALL


def test_cases_take_what_each_of_them_took() -> None:
    """A launch of short cases says little of how long a launch of long ones takes."""
    short, long = PlanCase("MPI_Bcast", 1), PlanCase("MPI_Bcast", 2**20)
    both = Plan("", 1, (short, long), blocks=6, reps=4)
    filling = Filling()
    filling.learn("search", both, LaunchCost(_START, 0.05, {0: (24, 1e-6), 1: (24, 1e-3)}))
    few = msgspec.structs.replace(both, cases=(short,))
    filling.learn("search", few, LaunchCost(_START, 0.001, {0: (24, 1e-6)}))
    other = PlanCase("MPI_Bcast", 2**20, configuration=Configuration((("algorithm", "chain"),)))
    of = {
        case: filling.filled("search", msgspec.structs.replace(both, cases=(case,))).reps
        for case in (short, long, other)
    }
    assert of[short] == 4 * MOST_REPS > of[long] == of[other]


def test_calls_of_a_stream_are_one_sample() -> None:
    plan = Plan("", 1, (PlanCase("MPI_Bcast", 8, reps=10, use="stream"), SMALL.cases[0]), reps=4)
    assert [plan.calls_of_a_block(case) for case in plan.cases] == [10, 4]
    assert [plan.calls_of_a_sample(case) for case in plan.cases] == [10, 1]


@pytest.mark.parametrize(("spread", "precision"), [(0.0, 0.01), (0.008, 0.01), (0.04, 0.04)])
def test_a_case_need_be_no_surer_than_launches_are_alike(spread: float, precision: float) -> None:
    """Later looks, which cells on the border reach, ask for a quarter of that."""
    filling = Filling()
    filling.differ(spread)
    asked = msgspec.structs.replace(SMALL, precision=0.01)
    assert filling.filled("search", asked).precision == precision
    later = filling.filled("before", asked, is_first=False).precision
    assert later == max(0.01, spread / 4)
    assert filling.filled("search", SMALL).precision == 0  # it takes all blocks
    assert filling.no_surer(asked).precision == precision
    assert filling.no_surer(SMALL) == SMALL


def test_cases_that_ended_early_do_not_make_calls_shorter() -> None:
    whole, half = Filling(), Filling()
    whole.learn("search", BIG, cost(BIG, 12.0))
    half.learn("search", BIG, cost(BIG, 6.0, share=0.5))
    assert half.filled("search", SMALL) == whole.filled("search", SMALL)
