"""Student's t of pairs, against scipy; what it says where there is no variance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from plumbline.verify.significance.comparison import Alternative
from plumbline.verify.significance.student import student


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("n", [2, 6, 9])
def test_it_is_that_of_scipy(n: int, alternative: Alternative) -> None:
    rng = np.random.default_rng(n)
    left, right = rng.lognormal(0.3, 0.2, n), rng.lognormal(0, 0.2, n)
    found = student(left, right, alternative, 0.99)
    reference = stats.ttest_rel(np.log(left), np.log(right), alternative=alternative)
    assert found.p == pytest.approx(reference.pvalue, rel=1e-9)
    assert found.ratio == pytest.approx(math.exp(np.mean(np.log(left) - np.log(right))))
    both = stats.ttest_rel(np.log(left), np.log(right)).confidence_interval(0.99)
    assert (found.low, found.high) == pytest.approx((math.exp(both.low), math.exp(both.high)))


def test_without_a_variance() -> None:
    assert student([2.0] * 6, [2.0] * 6).p == 1
    clear = student([3.0] * 6, [2.0] * 6)
    assert clear.p < 1e-9 and clear.low == pytest.approx(1.5) == clear.high
    assert student([3.0], [2.0]).low is None
