"""The t test whose variance is moderated by other cells, against SciPy and planted variances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from plumbline.verify.significance import moderated as tested
from plumbline.verify.significance.moderated import VariancePool, moderated_ratio, pool_of
from plumbline.verify.significance.signed_rank import paired_ratio


def cells(count: int, launches: int, freedom: float, seed: int) -> list[list[float]]:
    """Log ratios whose variances are drawn with scale 0.05² and so many degrees of freedom."""
    rng = np.random.default_rng(seed)
    variances = 0.05**2 * freedom / rng.chisquare(freedom, count)
    noise = rng.standard_normal((count, launches))
    return [list(row) for row in np.sqrt(variances)[:, None] * noise]


@pytest.mark.parametrize("launches", [4, 6, 9])
def test_a_planted_distribution_of_variances_is_found(launches: int) -> None:
    pool = pool_of(cells(4000, launches, 4.0, 1))
    assert pool is not None
    assert math.sqrt(pool.variance) == pytest.approx(0.05, rel=0.05)
    assert pool.freedom == pytest.approx(4.0, rel=0.15)


def test_equal_variances_count_for_ten_launches_at_most() -> None:
    pool = pool_of(cells(500, 6, 1e6, 1))
    assert pool is not None and pool.freedom == tested.MOST_FREEDOM


def test_a_cell_is_a_t_test_with_the_freedom_of_both() -> None:
    pool, logs = VariancePool(0.0025, 4.0), [0.1, 0.02, 0.07, 0.11, 0.04, 0.09]
    found = moderated_ratio(logs, 0.9, pool=pool)
    variance = (5 * np.var(logs, ddof=1) + 4 * 0.0025) / 9
    expected = stats.t(9, float(np.mean(logs)), math.sqrt(variance / 6))
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected.interval(0.9))))
    assert found.p == pytest.approx(expected.cdf(0))
    assert (found.ratio, found.n, found.freedom) == (pytest.approx(math.exp(np.mean(logs))), 6, 9.0)


def test_from_ten_launches_on_the_mean_is_trimmed() -> None:
    """The standard error is that of Tukey and McLaughlin, as SciPy's trimmed t test has it."""
    logs = np.random.default_rng(2).normal(0.1, 0.05, 20)
    found = moderated_ratio(logs, pool=VariancePool(1e-9, 1e-9))
    expected = stats.ttest_ind(
        logs, np.zeros(20) + 1e-12 * np.arange(20), trim=0.1, equal_var=False
    )
    assert math.log(found.ratio) == pytest.approx(stats.trim_mean(logs, 0.1))
    assert found.p == pytest.approx(expected.pvalue / 2, rel=1e-3)


def test_one_launch_has_the_variance_of_the_others() -> None:
    found = moderated_ratio([0.2], pool=VariancePool(0.01, 5.0))
    assert found.low is not None and found.high is not None
    assert found.p == pytest.approx(stats.t.sf(2.0, 5))


def test_few_cells_say_nothing_about_others() -> None:
    few = cells(tested.LEAST_CELLS - 1, 6, 4.0, 1)
    equal = [[0.1] * 6] * 50  # nothing varies, as where a timer is coarse
    assert pool_of(few) is None and pool_of(few + equal) is None
    assert tested.moderated(few + equal)([0.1] * 6, 0.95) == paired_ratio([0.1] * 6, 0.95)
    assert pool_of([*few, [0.1, 0.3]]) is not None
