"""The tests against brute-force enumeration of their definitions, and against scipy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from plumbline.verify import null_distributions as null
from plumbline.verify.significance.kolmogorov_smirnov import kolmogorov_smirnov
from plumbline.verify.significance.rank_sum import rank_sum
from plumbline.verify.statistics import adjusted_within, benjamini_hochberg, paired_ratio

# Few distinct values: ties and zeros are the rule.
coarse = st.integers(-4, 4).map(lambda tenths: tenths / 10)
fine = st.floats(-2, 2, allow_nan=False).filter(lambda x: abs(x) > 1e-6)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def brute_signed_rank(values: Sequence[float]) -> float:
    """P(T ≥ observed) by going through all signs of the non-zero values (Pratt)."""
    rounded = np.round(values, 12)
    ranks = stats.rankdata(np.abs(rounded))
    observed = ranks[rounded > 0].sum()
    live = ranks[rounded != 0]
    sums = [np.dot(signs, live) for signs in itertools.product((0, 1), repeat=len(live))]
    return float(np.mean(np.array(sums) >= observed - 1e-9))


def brute_rank_sum(left: Sequence[float], right: Sequence[float]) -> float:
    ranks = stats.rankdata(np.round(np.log([*left, *right]), 12))
    observed = ranks[: len(left)].sum()
    sums = [sum(subset) for subset in itertools.combinations(ranks, len(left))]
    return float(np.mean(np.array(sums) >= observed - 1e-9))


@given(st.lists(st.one_of(coarse, fine), min_size=1, max_size=9))
def test_signed_rank_p_is_the_enumerated_one(values: list[float]) -> None:
    assert paired_ratio(values).p == pytest.approx(brute_signed_rank(values), abs=1e-12)


@given(st.lists(fine, min_size=2, max_size=25, unique_by=lambda x: round(abs(x), 9)))
def test_signed_rank_p_is_scipys_where_scipy_is_exact(values: list[float]) -> None:
    expected = stats.wilcoxon(values, alternative="greater", method="exact").pvalue
    assert paired_ratio(values).p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("zeros", [0, 7])
@pytest.mark.parametrize("digits", [1, 9])
def test_large_samples_are_scipys_normal_approximation(digits: int, zeros: int) -> None:
    values = np.round(np.random.default_rng(digits).normal(0.05, 0.3, 90), digits)
    values[:zeros] = 0
    expected = stats.wilcoxon(
        values, zero_method="pratt", alternative="greater", method="asymptotic", correction=True
    ).pvalue
    assert paired_ratio(values).p == pytest.approx(expected, rel=0.02)


def test_exact_and_normal_agree_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal(0.04, 0.2, null.SIGNED_RANK_LIMIT)
    exact = paired_ratio(values)
    monkeypatch.setattr(null, "SIGNED_RANK_LIMIT", 10)
    normal = paired_ratio(values)
    assert normal.p != exact.p
    assert normal.p == pytest.approx(exact.p, abs=0.001)
    assert (normal.low, normal.high) == pytest.approx((exact.low, exact.high), rel=0.005)


@given(st.lists(st.one_of(coarse, fine), min_size=1, max_size=12))
def test_swapping_sides_inverts_the_ratio(values: list[float]) -> None:
    there, back = paired_ratio(values), paired_ratio([-value for value in values])
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.p + back.p >= 1 - 1e-12  # both tails hold the observed value
    if len(values) < 6:
        assert there.low is None and there.high is None
        assert there.reason == f"{len(values)} launches are too few for a 95 % interval"
    else:
        assert there.low is not None and there.high is not None and back.low is not None
        assert there.low <= there.ratio * (1 + 1e-12) <= there.high * (1 + 1e-12) ** 2
        assert there.high * back.low == pytest.approx(1)


@given(st.lists(fine, min_size=6, max_size=12, unique_by=lambda x: round(x, 6)))
def test_interval_is_the_inverted_test(values: list[float]) -> None:
    """Beyond the lower limit the hypothesis "no slower than that" is rejected, within it is not."""
    found = paired_ratio(values)
    assert found.low is not None
    shift = math.log(found.low)
    assert paired_ratio(np.array(values) - (shift - 1e-7)).p <= 0.025 + 1e-9
    assert paired_ratio(np.array(values) - (shift + 1e-7)).p > 0.025


@pytest.mark.parametrize("n", range(1, 11))
@pytest.mark.parametrize("tail", [0.025, 0.0125, 0.1])
def test_order_of_the_limit_is_the_enumerated_one(n: int, tail: float) -> None:
    sums = np.array([np.dot(s, range(1, n + 1)) for s in itertools.product((0, 1), repeat=n)])
    expected = next(k for k in itertools.count() if np.mean(sums <= k) > tail)
    assert null.signed_rank_order(n, tail) == expected


def test_equal_sides_are_no_evidence() -> None:
    found = paired_ratio([0.0] * 8)
    assert (found.ratio, found.low, found.high, found.p) == (1, 1, 1, 1)


def test_zeros_count_as_launches_without_evidence() -> None:
    assert paired_ratio([0.1] * 8).p == 2**-8
    assert paired_ratio([0.1] * 8 + [0.0] * 4).p == 2**-8
    assert paired_ratio([0.1] * 8 + [0.0] * 4).ratio == pytest.approx(math.exp(0.05))


def test_rounding_does_not_break_ties() -> None:
    ratios = [math.log(110e-6) - math.log(100e-6), math.log(2e-6) - math.log(2.2e-6)]
    assert paired_ratio(ratios * 3).p == brute_signed_rank([1.0, -1.0] * 3)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not a finite number"):
        paired_ratio([0.1] * 9 + [bad])
    with pytest.raises(ValueError, match="left: a value is not a finite number"):
        rank_sum([bad, 1.0], [1.0])
    with pytest.raises(ValueError, match="right: a value is not a finite number"):
        kolmogorov_smirnov([1.0], [bad])


def test_no_data_and_times_that_are_not_positive_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        paired_ratio([])
    for bad in (0.0, -1e-6):
        with pytest.raises(ValueError, match="not positive"):
            rank_sum([1e-6, bad], [1e-6])
    with pytest.raises(ValueError, match="between 0 and 1"):
        benjamini_hochberg([0.1, math.nan])


times = st.lists(st.integers(1, 6).map(lambda us: us * 1e-6), min_size=1, max_size=6)


@given(times, times)
def test_rank_sum_p_is_the_enumerated_one(left: list[float], right: list[float]) -> None:
    assert rank_sum(left, right).p == pytest.approx(brute_rank_sum(left, right), abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(2, 20))
@settings(max_examples=50)
def test_rank_sum_without_ties_is_scipys(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.lognormal(0.2, 0.3, m), rng.lognormal(0, 0.3, n)
    expected = stats.mannwhitneyu(left, right, alternative="greater", method="exact").pvalue
    assert rank_sum(left, right).p == pytest.approx(expected, abs=1e-12)


def test_rank_sum_of_large_samples_is_scipys_normal_approximation() -> None:
    rng = np.random.default_rng(4)
    left, right = np.round(rng.lognormal(0.1, 0.3, 50), 1), np.round(rng.lognormal(0, 0.3, 40), 1)
    expected = stats.mannwhitneyu(left, right, alternative="greater", method="asymptotic").pvalue
    assert rank_sum(left, right).p == pytest.approx(expected, rel=1e-9)


def test_rank_sum_of_three_and_five_launches_is_exact() -> None:
    """Where a normal approximation says 0.040 and 0.0061."""
    assert rank_sum([4, 5, 6], [1, 2, 3]).p == pytest.approx(1 / 20)
    assert rank_sum([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]).p == pytest.approx(1 / 252)


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


@given(st.permutations(range(8)))
@settings(max_examples=30)
def test_kolmogorov_smirnov_p_is_the_enumerated_one(order: list[int]) -> None:
    values = np.array(order) + 1.0

    def distance(left: np.ndarray, right: np.ndarray) -> float:
        return max(float(np.mean(right <= x) - np.mean(left <= x)) for x in values)

    observed = distance(values[:4], values[4:])
    all_splits = [
        distance(values[list(subset)], np.delete(values, list(subset)))
        for subset in itertools.combinations(range(8), 4)
    ]
    expected = np.mean(np.array(all_splits) >= observed - 1e-9)
    found = kolmogorov_smirnov(values[:4], values[4:])
    assert found.p == pytest.approx(expected, abs=1e-9)
    assert found.low is None and found.reason


@given(probabilities)
def test_benjamini_hochberg_is_scipys(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p), abs=1e-12)


@given(st.floats(0.001, 1), probabilities, st.floats(0.001, 0.5))
def test_adjusted_within_is_the_rule(p: float, family: list[float], alpha: float) -> None:
    """Below α exactly when p is at most α R/m with R members selected at α."""
    selected = int((benjamini_hochberg(family) <= alpha).sum())
    adjusted = float(adjusted_within([p], family)[0])
    if abs(adjusted - alpha) > 1e-9 and alpha < 1:
        assert (adjusted < alpha) == (p <= alpha * selected / len(family))


def test_empty_family() -> None:
    assert len(benjamini_hochberg([])) == 0
