"""Is B slower than A: verdicts of cells, how often they are wrong, and what a preloaded tool slows
down in the library that is there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plumbline.results.regressions import ChangeInterval, RegressionClaim, verdict_of
from plumbline.verify import design

CLAIM = RegressionClaim(alpha=0.05, tolerance=0.05, design=design.over(10, 40))


@pytest.mark.parametrize(
    ("change", "low", "high", "verdict"),
    [
        (0.12, 0.09, 0.15, "slower"),
        (0.04, 0.02, 0.06, "not shown"),
        (0.04, 0.03, 0.045, "equal"),
        (0.06, -0.01, 0.12, "not shown"),
        (-0.10, -0.12, -0.08, "faster"),
        (0.00, -0.04, 0.04, "equal"),
        (0.00, -0.06, 0.04, "not shown"),
        (0.30, None, None, "not shown"),
    ],
)
def test_the_interval_and_the_tolerance_decide(
    change: float, low: float | None, high: float | None, verdict: str
) -> None:
    assert ChangeInterval(change, low, high).verdict(0.05) == verdict


def test_a_cell_is_decided_at_the_first_look_that_can() -> None:
    logs = [math.log(1.12) + 0.001 * (number % 5) for number in range(40)]
    verdict, look, interval = verdict_of(logs, CLAIM, cells=12)
    first = next(
        number
        for number in range(CLAIM.design.looks)
        if verdict_of(logs[: CLAIM.design.launches[number]], CLAIM, cells=12)[0] == "slower"
    )
    assert (verdict, look) == ("slower", first + 1)
    assert interval.low and interval.low > 0.11


def test_too_few_launches_say_nothing() -> None:
    assert verdict_of([0.5] * 8, CLAIM, cells=1)[:2] == ("not shown", 0)


def test_equal_sides_have_no_other_verdict_in_as_many_families_as_promised() -> None:
    """400 families of 12 equal cells, noise of 8 %: at most 5 % have a cell that is called slower
    or faster, by far more than chance allows (9 % would have p < 0.001)."""
    chance = np.random.default_rng(1)
    wrong = 0
    for _ in range(400):
        cells = [verdict_of(list(chance.normal(0, 0.08, 40)), CLAIM, cells=12) for _ in range(12)]
        wrong += any(verdict in ("slower", "faster") for verdict, _, _ in cells)
    assert wrong <= 0.09 * 400


def test_a_tenth_slower_is_seen() -> None:
    """Noise of 8 %, 12 cells: in 95 of 100 cells at least."""
    chance = np.random.default_rng(2)
    seen = [
        verdict_of(list(chance.normal(math.log(1.1), 0.08, 40)), CLAIM, cells=12)[0]
        for _ in range(200)
    ]
    assert seen.count("slower") >= 190
