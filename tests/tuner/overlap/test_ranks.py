"""The least, the middle and the largest ratio over the ranks of a cell."""

from __future__ import annotations

from plumbline.overlap import suite
from plumbline.overlap.metric import Ratio
from plumbline.overlap.suite import OverlapResult


def cell(
    rank: int, value: float | None, *, noisy: bool = False, bench: str = "ring"
) -> OverlapResult:
    ratio = None if value is None else Ratio(1e-5, 1e-5, 2e-5, value, value, value, noisy)
    return OverlapResult(bench, 64, 1000, 1, ratio, rank)


def test_the_least_the_middle_and_the_largest() -> None:
    (found,) = suite.spreads([cell(0, 0.9), cell(1, 0.1), cell(2, 0.5)])
    assert [one.rank for one in (found.low, found.median, found.high)] == [1, 2, 0]
    assert (found.ranks, found.clear) == (3, 3)
    assert suite.spread_text(found) == "0.5 (0.1…0.9)"


def test_of_an_even_number_the_lower_of_the_two_in_the_middle() -> None:
    (found,) = suite.spreads([cell(0, 0.9), cell(1, 0.1), cell(2, 0.6), cell(3, 0.5)])
    assert found.median.rank == 3


def test_ranks_that_scatter_do_not_count_unless_all_do() -> None:
    (found,) = suite.spreads([cell(0, 0.2), cell(1, 0.4), cell(2, 11.0, noisy=True)])
    assert found.high.rank == 1 and (found.ranks, found.clear) == (3, 2)
    assert suite.spread_text(found) == "0.2 (0.2…0.4)"
    (half,) = suite.spreads([cell(0, 0.2), cell(1, 11.0, noisy=True)])
    assert suite.spread_text(half) == "~"
    (none,) = suite.spreads([cell(0, 9.0, noisy=True)])
    assert none.median.rank == 0 and suite.spread_text(none) == "~"


def test_benchmarks_stay_apart_and_in_order_and_one_rank_has_no_range() -> None:
    found = suite.spreads([cell(0, 0.5), cell(0, 0.4, bench="fan_in"), cell(1, None)])
    assert [one.median.bench for one in found] == ["ring", "fan_in"]
    assert [suite.spread_text(one) for one in found] == ["0.5", "0.4"]
