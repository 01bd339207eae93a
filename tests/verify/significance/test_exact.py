"""Ratios of launches that repeat each other."""

from __future__ import annotations

import math

import pytest

from plumbline.verify.significance.comparison import SAME, exact_ratio


@pytest.mark.parametrize(("ratio", "p"), [(1.2, 0.0), (1.0, 1.0), (0.8, 1.0)])
def test_one_launch_says_all(ratio: float, p: float) -> None:
    found = exact_ratio([math.log(ratio)])
    assert (found.p, found.n) == (p, 1)
    assert found.ratio == pytest.approx(ratio)
    assert found.low == pytest.approx(ratio, rel=2 * SAME)
    assert found.high == pytest.approx(ratio, rel=2 * SAME)


def test_rounding_to_nanoseconds_is_no_difference() -> None:
    """A nanosecond in twenty microseconds: neither slower nor faster."""
    found = exact_ratio([math.log(20001 / 20000)])
    assert found.p == 1.0
    assert found.low is not None and found.high is not None
    assert found.low < 1 < found.high


def test_several_launches_span_the_interval() -> None:
    found = exact_ratio([math.log(1.3), math.log(1.1), math.log(1.2)])
    assert found.ratio == pytest.approx(1.2)
    assert found.low == pytest.approx(1.1, rel=2 * SAME)
    assert found.high == pytest.approx(1.3, rel=2 * SAME)


@pytest.mark.parametrize("bad", [[], [float("nan")], [float("inf")]])
def test_what_is_no_number_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="log ratios"):
        exact_ratio(bad)
