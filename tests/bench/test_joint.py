"""The bench of joint settings: what a record says of its points, and that searches are replayed."""

from __future__ import annotations

import contextlib
import math
import random

import pytest

from tests.bench.search.joint import LAUNCHES, SEARCHES, Machine, Visits
from tests.bench.search.joint_space import PLAIN, Launch, Record, name_of, points, read
from tests.sampled import by_default


def record(**ns: list[list[int]]) -> Record:
    """Two launches of each point, and of the library as it is, which takes 100 and 200 ns."""
    of = {PLAIN: [[100, 200], [100, 200]]} | ns
    launches = [
        Launch(point, number, row, [100, 200], 1.0)
        for point, rows in of.items()
        for number, row in enumerate(rows)
    ]
    return Record([("MPI_Bcast", 64), ("MPI_Bcast", 4096)], launches)


def test_other_work_in_a_launch_does_not_change_what_a_point_is() -> None:
    machine = Machine(record(fast=[[50, 100], [150, 100]], calm=[[100, 160], [100, 160]]), [0, 1])
    assert machine.ratio("fast") == pytest.approx(0.5)
    assert machine.ratio("calm") == pytest.approx(0.9)
    assert machine.best() == pytest.approx(0.5)


def test_points_that_fail_or_make_a_cell_slower_are_not_kept() -> None:
    machine = Machine(record(fails=[[], []], mixed=[[10, 220], [10, 220]]), [0, 1])
    assert machine.ratio("fails") == machine.ratio("mixed") == math.inf
    assert machine.launch("fails", random.Random(1)) is None
    assert machine.best() == 1.0


def test_the_record_has_every_point() -> None:
    names = {launch.point for launch in read().launches}
    assert names == {name_of(*point) for point in points()} | {PLAIN}


@pytest.mark.parametrize("name", by_default([name for name in SEARCHES if name != "TPE"], ["TPE"]))
def test_a_search_spends_its_launches_and_is_replayed_alike(name: str) -> None:
    machine = Machine(read(), [0, 1, 2])

    def trace() -> list[float]:
        visits = Visits(machine, 1)
        with contextlib.suppress(StopIteration):
            SEARCHES[name](visits, 1)
        return visits.trace

    first = trace()
    assert 0 < len(first) <= LAUNCHES[-1] and min(first) >= 0
    assert first == trace()
