"""Regret, by hand."""

from __future__ import annotations

import pytest

from plumbline.overlap.metric import Ratio
from plumbline.overlap.regret import ideal, regret


def of(communication: float, computation: float, both: float) -> Ratio:
    shorter, longer = sorted((communication, computation))
    value = (both - longer) / shorter
    return Ratio(communication, computation, both, value, value, value, False)


def test_a_slow_message_that_hides_itself_is_no_gain() -> None:
    """Of 10 units, half hidden, and of 50, hidden but for a tenth of the work: by the ratio alone
    the second would be chosen."""
    fast, slow = of(10, 20, 25), of(50, 20, 52)
    assert slow.value < fast.value
    assert regret([fast, slow]) == pytest.approx([25 / 20, 52 / 20])


def test_the_best_message_and_the_shortest_work_may_be_of_two() -> None:
    assert ideal([of(10, 8, 12), of(30, 5, 31)]) == 10
    assert ideal([of(3, 8, 12), of(30, 5, 31)]) == 5
    assert regret([of(10, 20, 20)]) == [pytest.approx(1)]


def test_nothing_to_compare() -> None:
    assert regret([]) == []
    with pytest.raises(ValueError):
        ideal([])
