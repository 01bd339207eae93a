"""The tests by name: what all of them promise, whatever they compute."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plumbline.verify.significance.comparison import Alternative
from plumbline.verify.significance.comparison import Test as AnyTest
from plumbline.verify.statistics import DEFAULT_TEST, TESTS, stars

ALTERNATIVES: list[Alternative] = ["greater", "less", "two-sided"]


@pytest.fixture(params=list(TESTS))
def chosen(request: pytest.FixtureRequest) -> AnyTest:
    return TESTS[request.param]


def test_names() -> None:
    assert DEFAULT_TEST == "signed-rank" and TESTS[DEFAULT_TEST].paired
    assert [one.name for one in TESTS.values()] == list(TESTS)


@pytest.mark.parametrize("n", [6, 12, 35])
def test_swapping_the_sides_swaps_the_alternative(chosen: AnyTest, n: int) -> None:
    rng = np.random.default_rng(n)
    left, right = rng.lognormal(0.1, 0.2, n), rng.lognormal(0, 0.2, n)
    there = {one: chosen.run(left, right, one, 0.95) for one in ALTERNATIVES}
    back = {one: chosen.run(right, left, one, 0.95) for one in ALTERNATIVES}
    assert there["greater"].p == pytest.approx(back["less"].p)
    assert there["less"].p == pytest.approx(back["greater"].p)
    assert there["two-sided"].p == pytest.approx(back["two-sided"].p)
    assert there["greater"].ratio * back["greater"].ratio == pytest.approx(1)
    assert there["greater"].n == n


@pytest.mark.parametrize("n", [3, 5, 8, 12, 40])
def test_equal_samples_are_no_evidence(chosen: AnyTest, n: int) -> None:
    """Not for the default either: all p are 1 where all values are equal."""
    same = [1e-5] * n
    for alternative in ALTERNATIVES:
        found = chosen.run(same, same, alternative, 0.95)
        assert found.p == 1
        assert found.ratio == 1
        other = chosen.run(list(range(1, n + 1)), list(range(1, n + 1)), alternative, 0.95)
        assert other.p > 0.4 and other.ratio == 1


@pytest.mark.parametrize("n", [8, 15, 35])
def test_a_clear_difference_is_found_in_its_direction(chosen: AnyTest, n: int) -> None:
    rng = np.random.default_rng(n)
    right = rng.lognormal(0, 0.1, n)
    left = 1.5 * rng.lognormal(0, 0.1, n)
    assert chosen.run(left, right, "greater", 0.95).p < 0.01
    assert chosen.run(left, right, "two-sided", 0.95).p < 0.02
    assert chosen.run(left, right, "less", 0.95).p > 0.9
    assert chosen.run(left, right, "greater", 0.95).ratio == pytest.approx(1.5, rel=0.25)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n", "digits"), [(6, 9), (6, 1), (12, 9)])
def test_under_the_null_p_is_not_too_small(
    chosen: AnyTest, alternative: Alternative, n: int, digits: int
) -> None:
    """Share of p ≤ u in 1000 null experiments, ties or none, heavy tails: at most u and three
    standard errors of the simulation."""
    rng = np.random.default_rng(n + digits)
    p = []
    for _ in range(1000):
        left, right = np.exp(np.round(rng.standard_t(2, (2, n)) * 0.2, digits))
        p.append(chosen.run(left, right, alternative, 0.95).p)
    for u in (0.01, 0.05, 0.2):
        assert np.mean(np.array(p) <= u) <= u + 3 * math.sqrt(u * (1 - u) / 1000)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1e-6])
def test_what_is_no_time_is_refused(chosen: AnyTest, bad: float) -> None:
    good = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"left: a (value|time) is not"):
        chosen.run([1.0, bad, 2.0], good, "greater", 0.95)
    with pytest.raises(ValueError, match=r"right: a (value|time) is not"):
        chosen.run(good, [1.0, bad, 2.0], "greater", 0.95)
    with pytest.raises(ValueError, match="at least one value"):
        chosen.run([], good, "greater", 0.95)


def test_stars() -> None:
    limits = {"***": (0.0, 0.001), "**": (0.0011, 0.01), "*": (0.011, 0.05), "": (0.0501, 1.0)}
    assert all(stars(p) == mark for mark, both in limits.items() for p in both)
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            stars(bad)


# What the predecessors compute: a normal approximation where the exact p is known, a rank sum whose
# expected value ignores the other side's size, ties counted for the default.


def test_three_and_five_launches_are_exact() -> None:
    """Where a normal approximation says 0.040 and 0.0061."""
    run = TESTS["rank-sum"].run
    assert run([4, 5, 6], [1, 2, 3], "greater", 0.95).p == pytest.approx(0.050)
    assert run([6, 7, 8, 9, 10], [1, 2, 3, 4, 5], "greater", 0.95).p == pytest.approx(1 / 252)


def test_unpaired_tests_know_both_sizes() -> None:
    rng = np.random.default_rng(4)
    for name in ("rank-sum", "kolmogorov-smirnov", "brunner-munzel"):
        p = [
            TESTS[name].run(rng.lognormal(0, 0.2, 24), rng.lognormal(0, 0.2, 8), "greater", 0.95).p
            for _ in range(400)
        ]
        assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * 0.011
        assert 0.4 < np.mean(p) < 0.7
