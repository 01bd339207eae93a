"""Brunner-Munzel: its permutation test against scipy's statistic over all splits, its t
distribution against scipy, its error rate where spreads differ, and where it is undefined."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plumbline.verify.significance import brunner_munzel as module
from plumbline.verify.significance.brunner_munzel import NO_INTERVAL, brunner_munzel
from plumbline.verify.significance.comparison import Alternative
from plumbline.verify.significance.rank_sum import rank_sum

fine = st.floats(1, 9).map(lambda x: round(x, 6))
samples = st.lists(fine, min_size=8, max_size=8, unique=True)


def scipys_statistic(left: Sequence[float], right: Sequence[float]) -> float:
    """Large where the left side is larger; infinite where the sides are apart."""
    if min(left) > max(right):
        return math.inf
    if max(left) < min(right):
        return -math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return -float(stats.brunnermunzel(left, right).statistic)


@pytest.mark.parametrize("m", [3, 4, 5])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@given(values=samples)
@settings(max_examples=8)
def test_few_launches_are_permuted(alternative: Alternative, m: int, values: list[float]) -> None:
    observed = scipys_statistic(values[:m], values[m:])
    splits = []
    for chosen in itertools.combinations(range(8), m):
        others = [values[i] for i in range(8) if i not in chosen]
        splits.append(scipys_statistic([values[i] for i in chosen], others))
    at_least = np.mean([each >= observed - 1e-9 for each in splits])
    at_most = np.mean([each <= observed + 1e-9 for each in splits])
    both = min(1.0, 2 * min(at_least, at_most))
    expected = {"greater": at_least, "less": at_most, "two-sided": both}[alternative]
    found = brunner_munzel(values[:m], values[m:], alternative)
    assert found.p == pytest.approx(expected, abs=1e-12)
    assert found.low is None and found.high is None and found.reason.startswith(NO_INTERVAL)


@pytest.mark.parametrize(("m", "n"), [(30, 30), (60, 35)])
@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_many_launches_are_scipys(alternative: Alternative, digits: int, m: int, n: int) -> None:
    rng = np.random.default_rng(m)
    left = np.round(rng.lognormal(1.05, 0.2, m), digits)
    right = np.round(rng.lognormal(1.0, 0.3, n), digits)
    expected = stats.brunnermunzel(left, right, alternative=alternative).pvalue
    assert brunner_munzel(left, right, alternative).p == pytest.approx(expected, rel=1e-9)


def test_drawn_splits_agree_with_all_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    left, right = rng.lognormal(0.15, 0.2, 8), rng.lognormal(0, 0.3, 9)
    exact = brunner_munzel(left, right).p
    module._null.cache_clear()
    monkeypatch.setattr(module, "EXACT_SPLITS", 10)
    drawn = brunner_munzel(left, right).p
    module._null.cache_clear()
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


def test_drawn_splits_never_give_zero_and_are_the_same_every_time() -> None:
    rng = np.random.default_rng(8)
    left = rng.lognormal(0.9, 0.1, 15)
    right = np.concatenate([rng.lognormal(0, 0.4, 14), [left.min() * 1.01]])
    found = brunner_munzel(left, right)
    assert found.p == 1 / 20_000
    module._null.cache_clear()
    assert brunner_munzel(left, right) == found


@pytest.mark.parametrize(("m", "n"), [(5, 5), (3, 8), (12, 12), (40, 40)])
def test_sides_apart_fall_back_to_the_exact_rank_sum(m: int, n: int) -> None:
    left, right = np.arange(m) + 100.0, np.arange(n) + 1.0
    for alternative in ("greater", "less", "two-sided"):
        found = brunner_munzel(left, right, alternative)
        assert found.p == rank_sum(left, right, alternative).p
        assert "exact rank-sum" in found.reason
    assert brunner_munzel(left, right).p == pytest.approx(1 / math.comb(m + n, m), rel=0.01) or (
        m + n > 60
    )


def test_one_launch_falls_back_too() -> None:
    found = brunner_munzel([3.0], [1.0, 2.0, 4.0])
    assert found.p == rank_sum([3.0], [1.0, 2.0, 4.0]).p
    assert "exact rank-sum" in found.reason


def test_a_difference_in_spread_is_not_one_in_time() -> None:
    """9 wide against 6 narrow launches with the same centre: rank-sum calls too many different."""
    rng = np.random.default_rng(2)
    ours, ranks = [], []
    for _ in range(1500):
        left, right = rng.lognormal(0, 0.1, 15), rng.lognormal(0, 0.5, 8)
        ours.append(brunner_munzel(left, right, "two-sided").p)
        ranks.append(rank_sum(left, right, "two-sided").p)
    assert np.mean(np.array(ours) <= 0.05) < 0.075
    assert np.mean(np.array(ranks) <= 0.05) > 0.09
