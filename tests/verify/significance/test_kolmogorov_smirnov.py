"""Kolmogorov-Smirnov against enumeration of its definition, and against scipy without ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plumbline.verify.significance.comparison import Alternative
from plumbline.verify.significance.kolmogorov_smirnov import kolmogorov_smirnov

times = st.lists(st.integers(1, 5).map(lambda us: us * 1e-6), min_size=1, max_size=5)


def distance(left: np.ndarray, right: np.ndarray, alternative: Alternative) -> float:
    """Largest excess of the right side's distribution function; both ways for two-sided."""
    places = np.concatenate([left, right])
    excess = [float(np.mean(right <= x) - np.mean(left <= x)) for x in places]
    if alternative == "two-sided":
        return max(map(abs, excess))
    return max(0.0, *(excess if alternative == "greater" else [-each for each in excess]))


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@given(left=times, right=times)
@settings(max_examples=40)
def test_p_is_the_enumerated_one(
    alternative: Alternative, left: list[float], right: list[float]
) -> None:
    """Conditional on ties, which are the rule here."""
    values = np.array([*left, *right])
    observed = distance(np.array(left), np.array(right), alternative)
    splits = [
        distance(values[list(one)], np.delete(values, list(one)), alternative)
        for one in itertools.combinations(range(len(values)), len(left))
    ]
    expected = np.mean(np.array(splits) >= observed - 1e-9)
    found = kolmogorov_smirnov(left, right, alternative)
    assert found.p == pytest.approx(expected, abs=1e-12)
    assert found.low is None and found.reason


@pytest.mark.parametrize(
    ("alternative", "scipys"), [("greater", "less"), ("less", "greater"), ("two-sided",) * 2]
)
@pytest.mark.parametrize(("m", "n"), [(6, 6), (7, 12), (30, 30), (200, 90)])
def test_without_ties_p_is_scipys(
    alternative: Alternative, scipys: Alternative, m: int, n: int
) -> None:
    """scipy names the larger distribution function, which is that of the smaller values."""
    rng = np.random.default_rng(m)
    left, right = rng.lognormal(0.15, 0.3, m), rng.lognormal(0, 0.3, n)
    expected = stats.ks_2samp(left, right, alternative=scipys, method="exact").pvalue
    assert kolmogorov_smirnov(left, right, alternative).p == pytest.approx(expected, rel=1e-9)


def test_sees_a_slower_tail_that_ranks_do_not() -> None:
    rng = np.random.default_rng(3)
    right = rng.lognormal(0, 0.05, 40)
    left = np.where(np.arange(40) < 20, right * 0.8, right * 1.25)
    assert kolmogorov_smirnov(left, right, "greater").p < 0.001
    assert kolmogorov_smirnov(left, right, "less").p < 0.001
