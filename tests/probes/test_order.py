"""Blocks in random order: from the seed alone, the same wherever the plan runs."""

from __future__ import annotations

import pytest

from tests.probes.launch import Probe

pytestmark = pytest.mark.mpi

CASES = "\n".join(f"case id={i} function=MPI_Barrier bytes=0 reps=1" for i in range(30, 0, -1))


def orders(probe: Probe, seed: int, ranks: int) -> list[list[int]]:
    launch = probe.good(f"set seed={seed} blocks=4 warmup=0 rewarm=0\n{CASES}", ranks)
    assert [record.warmup_ns for record in launch.samples] == [[]] * 120
    return launch.orders


def test_the_seed_decides(probe: Probe) -> None:
    first = orders(probe, 7, 2)
    assert orders(probe, 7, 3) == first
    assert orders(probe, 8, 2) != first
    assert all(sorted(order) == list(range(1, 31)) for order in first)
    assert len({tuple(order) for order in first}) == 4
