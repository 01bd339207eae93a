"""How many blocks a launch has room for."""

from __future__ import annotations

import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure.filling import MOST, filled

PLAN = Plan("", 1, (PlanCase("MPI_Bcast", 64), PlanCase("MPI_Reduce", 64)), blocks=6, reps=4)


@pytest.mark.parametrize(
    ("seconds", "blocks"),
    [
        ([2e-3, 8e-3], 10),  # 10 blocks of 4 calls of 10 ms are 0.4 s
        ([0.1, 0.1], 6),  # it takes longer as it is
        ([1e-6, 0.0], MOST * 6),
    ],
)
def test_it_measures_for_as_long_as_it_starts(seconds: list[float], blocks: int) -> None:
    assert filled(PLAN, seconds, 0.4).blocks == blocks


def test_a_start_that_takes_no_time_changes_nothing() -> None:
    assert filled(PLAN, [1e-6, 1e-6], 0.0) == PLAN
