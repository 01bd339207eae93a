"""The test against a limit: p is about the limit, ratio and interval about the ratio."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from plumbline.verify.statistics import above, exact_ratio, paired_ratio, slower

LOGS = [0.11, 0.07, 0.02, 0.09, 0.13, 0.04, 0.06, 0.10]


def test_p_is_that_of_all_signs_around_the_limit() -> None:
    """Enumerated: the share of the 2⁸ sign assignments whose rank sum is as large."""
    level = math.log(1.05)
    shifted = np.array(LOGS) - level
    ranks = np.abs(shifted).argsort().argsort() + 1
    observed = ranks[shifted > 0].sum()
    signs = np.array(list(product((0, 1), repeat=len(LOGS))))
    expected = np.mean(signs @ ranks >= observed)
    assert above(LOGS, 1.05).p == pytest.approx(expected)


def test_ratio_and_interval_are_those_of_the_ratio() -> None:
    found, plain = above(LOGS, 1.05, 0.9), paired_ratio(LOGS, 0.9)
    assert (found.ratio, found.low, found.high, found.n) == (
        plain.ratio,
        plain.low,
        plain.high,
        plain.n,
    )
    assert found.p > plain.p
    assert above(LOGS, 1.0, 0.9) == plain


def test_what_repeats_itself_is_above_or_not() -> None:
    for ratio, p in ((1.051, 0.0), (1.049, 1.0), (0.9, 1.0)):
        assert above([math.log(ratio)], 1.05, 0.95, exact_ratio).p == p


def test_slower_corrects_for_the_cells() -> None:
    """Eight launches: p is 2⁻⁸ at the least, enough for one slow cell of 12, not of 13 and more;
    for five slow ones of 60."""
    slow, equal = [0.2 + 0.001 * n for n in range(8)], [0.01, -0.01] * 4
    for slow_cells, others, found in ((1, 11, 1), (1, 12, 0), (5, 55, 5)):
        cells = {f"slow {n}": slow for n in range(slow_cells)}
        cells |= {f"equal {n}": equal for n in range(others)}
        called = slower(cells, 1.05, 0.05)
        assert set(called) == {f"slow {n}" for n in range(found)}
    assert called["slow 0"].ratio == pytest.approx(math.exp(0.2035))


def test_slower_leaves_out_what_is_within_the_limit_and_what_has_no_times() -> None:
    assert slower({"a": [0.03] * 12, "b": [], "c": [0.2] * 12}, 1.05, 0.05).keys() == {"c"}
    assert slower({"a": [0.03] * 12}, 1.01, 0.05).keys() == {"a"}
    assert slower({"a": []}, 1.05, 0.05) == {}
