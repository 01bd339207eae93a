"""How much going on must gain where an application spends its time, and where it does not."""

from __future__ import annotations

import pytest

from plumbline.core.cell import Target
from plumbline.search.race.effort import Effort
from plumbline.search.race.evidence import Evidence
from plumbline.search.race.judging import Decision, Judge
from plumbline.search.space.candidates import DEFAULT, Candidate

HEAVY, LIGHT, NONE = (Target("MPI_Bcast", size) for size in (8, 64, 512))
WEIGHTS = {("MPI_Bcast", 8): 0.9, ("MPI_Bcast", 64): 0.1, ("MPI_Bcast", 512): 0.0}


@pytest.mark.parametrize(
    ("weights", "cells", "least"),
    [
        (None, [HEAVY], 0.01),
        ({}, [HEAVY], 0.01),
        (WEIGHTS, [HEAVY], 0.01 / 1.8),
        (WEIGHTS, [LIGHT], 0.04),
        (WEIGHTS, [NONE], 0.04),
        (WEIGHTS, [LIGHT, HEAVY], 0.01 / 1.8),
        (dict.fromkeys(WEIGHTS, 0.2), [HEAVY], 0.01),
    ],
)
def test_what_must_be_gained(
    weights: dict[tuple[str, int], float] | None, cells: list[Target], least: float
) -> None:
    assert Effort(weights=weights).least_gain(cells) == pytest.approx(least)


def stopped(cell: Target, weights: dict[tuple[str, int], float] | None) -> str:
    """Two candidates, a hundredth apart, both far ahead of the default in eight launches."""
    first, second = Candidate("bcast_chain"), Candidate("bcast_binary")
    evidence = Evidence(exact=False, spread=0.1)
    for run in range(8):
        evidence.add_cold(cell, first, run, -0.30 - 0.001 * run)
        evidence.add_cold(cell, second, run, -0.29 - 0.001 * run)
    effort = Effort(weights=weights)
    judge = Judge(evidence, effort)
    of = Decision([cell], [first, second], {}, looks=8)
    assert judge.leader(of) == first != DEFAULT
    gain = judge.gain(of, first)
    assert effort.gain / 1.8 < gain < effort.gain
    return judge.stop(of)


def test_a_heavy_cell_goes_on_where_a_light_one_ends() -> None:
    assert stopped(HEAVY, WEIGHTS) == ""
    assert "expected to gain" in stopped(LIGHT, WEIGHTS)
    assert stopped(HEAVY, None) == stopped(LIGHT, None) != ""
