"""Distributions against SciPy's."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from plumbline.verify.significance import distributions

DIGITS = 1e-10
shapes = st.floats(0.5, 500)
inside = st.floats(1e-6, 1 - 1e-6)


@given(shapes, shapes, inside)
def test_beta(a: float, b: float, x: float) -> None:
    expected = float(special.betainc(a, b, x))
    assert distributions.beta_below(a, b, x) == pytest.approx(expected, rel=DIGITS, abs=1e-14)


@given(shapes, shapes, inside)
def test_its_quantiles(a: float, b: float, share: float) -> None:
    expected = float(special.betaincinv(a, b, share))
    assert distributions.beta_quantile(a, b, share) == pytest.approx(expected, rel=1e-9)


# SciPy is wrong by 1e-10 about t = 1e-9.
_sure = st.floats(-60, 60).filter(lambda t: t == 0 or abs(t) > 1e-3)


@given(st.floats(0.5, 1000), _sure)
def test_student(freedom: float, t: float) -> None:
    below, above = stats.t.cdf(t, freedom), stats.t.sf(t, freedom)
    assert distributions.student_below(freedom, t) == pytest.approx(below, rel=DIGITS, abs=1e-14)
    assert distributions.student_above(freedom, t) == pytest.approx(above, rel=DIGITS, abs=1e-14)


@given(st.floats(-1e-3, 1e-3))
def test_student_about_nothing(t: float) -> None:
    """With one degree of freedom it is Cauchy's distribution."""
    expected = 0.5 + math.atan(t) / math.pi
    assert distributions.student_below(1, t) == pytest.approx(expected, abs=1e-14)


def test_student_far_out() -> None:
    for sign in (-1, 1):
        assert distributions.student_below(3, sign * math.inf) == (sign > 0)
    assert distributions.student_above(5, 1e6) == pytest.approx(stats.t.sf(1e6, 5), rel=DIGITS)


SHARES = (1e-4, 0.025, 0.5, 0.9, 0.975, 1 - 1e-6)


@pytest.mark.parametrize(("freedom", "share"), list(product((1, 2, 4, 7, 30, 499), SHARES)))
def test_quantiles_of_student(freedom: int, share: float) -> None:
    expected = float(special.stdtrit(freedom, share))
    found = distributions.student_quantile(freedom, share)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_four_degrees_of_freedom() -> None:
    t = np.concatenate([np.linspace(-50, 50, 2001), [-np.inf, np.inf, 1e200]])
    assert np.allclose(distributions.student4_below(t), stats.t.cdf(t, 4), rtol=0, atol=1e-14)


@pytest.mark.parametrize("trials", [1, 6, 25, 400])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.5])
def test_binomial(trials: int, share: float) -> None:
    for count in range(-1, trials + 2):
        at_most = stats.binom.cdf(count, trials, share)
        at_least = stats.binom.sf(count - 1, trials, share)
        found = distributions.binomial_at_most(count, trials, share)
        assert found == pytest.approx(at_most, rel=DIGITS, abs=1e-14)
        found = distributions.binomial_at_least(count, trials, share)
        assert found == pytest.approx(at_least, rel=DIGITS, abs=1e-14)


@pytest.mark.parametrize(("count", "trials"), [(0, 10), (10, 10), (3, 10), (57, 1000)])
def test_interval_of_a_share(count: int, trials: int) -> None:
    expected = stats.binomtest(count, trials).proportion_ci(0.95, method="exact")
    found = distributions.binomial_interval(count, trials, 0.95)
    assert found == pytest.approx((expected.low, expected.high), rel=1e-9)


@given(st.floats(0.01, 1000))
def test_derivatives_of_log_gamma(x: float) -> None:
    assert distributions.digamma(x) == pytest.approx(
        float(special.digamma(x)), rel=DIGITS, abs=1e-11
    )
    trigamma = float(special.polygamma(1, x))
    assert distributions.trigamma(x) == pytest.approx(trigamma, rel=DIGITS)
    assert distributions.trigamma_inverse(trigamma) == pytest.approx(x, rel=1e-8)
