"""Looks and what they may spend."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.verify import decision
from plumbline.verify.decision import Design


def test_the_default_design() -> None:
    found = decision.design_over(6, 30)
    assert found.launches == (6, 8, 10, 13, 18, 23, 30)
    for look, launches in enumerate(found.launches):  # (n / 30)² is spent after n launches
        assert sum(found.shares[: look + 1]) == pytest.approx((launches / 30) ** 2)
    assert found.confidence(0, 0.05) == pytest.approx(1 - 0.05 * 0.2**2)
    assert found.sequential(0.001, 0) == pytest.approx(0.001 / 0.2**2)
    assert found.sequential(0.5, 0) == 1
    assert [found.new_launches(look) for look in range(found.looks)] == [6, 2, 2, 3, 5, 5, 7]


def test_one_look_spends_everything() -> None:
    assert decision.design_over(15, 15) == Design((15,), (1.0,))
    assert decision.design_over(15, 15).confidence(0, 0.05) == pytest.approx(0.95)


@given(st.integers(1, 60), st.integers(0, 200))
def test_any_design_ends_where_it_should_and_spends_all(first: int, more: int) -> None:
    found = decision.design_over(first, first + more)
    assert found.launches[0] == first and found.launches[-1] == first + more
    assert list(found.launches) == sorted(set(found.launches))
    assert sum(found.shares) == pytest.approx(1) and min(found.shares) > 0
    assert found.looks == 1 or more > 0
    for look in range(1, found.looks):
        # A whole number of steps: each at most GROWTH^1.5, then rounded to launches.
        most = (decision.GROWTH**1.5 - 1) * found.launches[look - 1]
        assert found.new_launches(look) <= most + 1.5


def test_a_last_look_before_the_first_is_refused() -> None:
    with pytest.raises(ValueError, match="the first look has 9 launches, the last one 8"):
        decision.design_over(9, 8)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (((), ()), "at least one look"),
        (((9, 9), (0.5, 0.5)), "grow"),
        (((9, 12), (0.5, 0.6)), "add up to 1"),
        (((9, 12), (0.0, 1.0)), "positive"),
        (((9, 12), (1.0,)), "a share for each look"),
    ],
)
def test_what_is_no_design_is_refused(
    bad: tuple[tuple[int, ...], tuple[float, ...]], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Design(*bad)
