"""Signed-rank against enumeration of its definition, and against scipy where scipy is exact."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from plumbline.verify.significance import distributions as null
from plumbline.verify.significance.comparison import Alternative
from plumbline.verify.significance.signed_rank import paired_ratio, signed_rank

# Few distinct values: ties and zeros are the rule.
coarse = st.integers(-4, 4).map(lambda tenths: tenths / 10)
fine = st.floats(-2, 2, allow_nan=False).filter(lambda x: abs(x) > 1e-6)


def brute_signed_rank(values: Sequence[float], alternative: Alternative = "greater") -> float:
    """By going through all signs of the non-zero values (Pratt)."""
    rounded = np.round(values, 12)
    ranks = stats.rankdata(np.abs(rounded))
    observed = ranks[rounded > 0].sum()
    live = ranks[rounded != 0]
    signs = itertools.product((0, 1), repeat=len(live))
    sums = np.array([np.dot(each, live) for each in signs])
    at_least, at_most = np.mean(sums >= observed - 1e-9), np.mean(sums <= observed + 1e-9)
    both = min(1.0, 2 * min(at_least, at_most))
    return float({"greater": at_least, "less": at_most, "two-sided": both}[alternative])


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@given(values=st.lists(st.one_of(coarse, fine), min_size=1, max_size=8))
def test_p_is_the_enumerated_one(alternative: Alternative, values: list[float]) -> None:
    expected = brute_signed_rank(values, alternative)
    assert paired_ratio(values, 0.95, alternative).p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@given(values=st.lists(fine, min_size=2, max_size=25, unique_by=lambda x: round(abs(x), 9)))
def test_p_is_scipys_where_scipy_is_exact(alternative: Alternative, values: list[float]) -> None:
    expected = stats.wilcoxon(values, alternative=alternative, method="exact").pvalue
    assert paired_ratio(values, 0.95, alternative).p == pytest.approx(expected, abs=1e-12)


def test_times_are_paired_by_launch() -> None:
    left, right = [2e-6, 4e-6, 9e-6], [1e-6, 3e-6, 5e-6]
    assert signed_rank(left, right) == paired_ratio(np.log(np.divide(left, right)))
    assert signed_rank(left, right).p == 2**-3
    assert signed_rank(left, right, "two-sided").p == 2**-2
    with pytest.raises(ValueError, match="3 launches on the left, 2 on the right"):
        signed_rank(left, right[:2])


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
        launches = "1 launch is" if len(values) == 1 else f"{len(values)} launches are"
        assert there.reason == f"{launches} too few for a 95 % interval"
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
