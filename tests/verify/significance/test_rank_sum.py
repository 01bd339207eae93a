"""Rank-sum against enumeration of its definition, and against scipy where scipy is exact."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plumbline.verify.significance import distributions as null
from plumbline.verify.significance.comparison import Alternative
from plumbline.verify.significance.rank_sum import rank_sum

# Whole microseconds: ties are the rule.
times = st.lists(st.integers(1, 6).map(lambda us: us * 1e-6), min_size=1, max_size=6)


def brute_rank_sum(
    left: Sequence[float], right: Sequence[float], alternative: Alternative
) -> float:
    ranks = stats.rankdata(np.round(np.log([*left, *right]), 12))
    observed = ranks[: len(left)].sum()
    sums = np.array([sum(subset) for subset in itertools.combinations(ranks, len(left))])
    at_least, at_most = np.mean(sums >= observed - 1e-9), np.mean(sums <= observed + 1e-9)
    both = min(1.0, 2 * min(at_least, at_most))
    return float({"greater": at_least, "less": at_most, "two-sided": both}[alternative])


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@given(left=times, right=times)
def test_p_is_the_enumerated_one(
    alternative: Alternative, left: list[float], right: list[float]
) -> None:
    expected = brute_rank_sum(left, right, alternative)
    assert rank_sum(left, right, alternative).p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 20), n=st.integers(2, 20))
@settings(max_examples=50)
def test_without_ties_p_is_scipys(alternative: Alternative, seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.lognormal(0.2, 0.3, m), rng.lognormal(0, 0.3, n)
    expected = stats.mannwhitneyu(left, right, alternative=alternative, method="exact").pvalue
    assert rank_sum(left, right, alternative).p == pytest.approx(expected, abs=1e-12)


def test_rank_sum_of_large_samples_is_scipys_normal_approximation() -> None:
    rng = np.random.default_rng(4)
    left, right = np.round(rng.lognormal(0.1, 0.3, 50), 1), np.round(rng.lognormal(0, 0.3, 40), 1)
    expected = stats.mannwhitneyu(left, right, alternative="greater", method="asymptotic").pvalue
    assert rank_sum(left, right).p == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("m", "n"), [(4, 4), (3, 6), (5, 4)])
def test_rank_sum_limit_is_the_enumerated_one(m: int, n: int) -> None:
    offset = m * (m + 1) // 2
    subsets = itertools.combinations(range(1, m + n + 1), m)
    u = np.array([sum(subset) - offset for subset in subsets])
    expected = next(k for k in itertools.count() if np.mean(u <= k) > 0.025)
    assert null.rank_sum_order(m, n, 0.025) == expected


def test_unpaired_ratio_has_an_interval() -> None:
    found = rank_sum(np.array([11, 12, 13, 14, 15]) * 1e-6, np.array([10, 11, 12, 13, 14]) * 1e-6)
    assert found.low is not None and found.high is not None
    assert found.low < found.ratio < found.high
    assert rank_sum([2e-6, 3e-6], [1e-6, 2e-6]).reason != ""


def test_shifted_samples_of_unequal_size_are_no_violation() -> None:
    """The expected rank sum depends on both sizes: equal distributions of 40 and 10 launches."""
    rng = np.random.default_rng(6)
    p = [rank_sum(rng.lognormal(0, 0.2, 40), rng.lognormal(0, 0.2, 10)).p for _ in range(400)]
    assert 0.01 < np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * 0.011
    assert 0.4 < np.mean(p) < 0.6
