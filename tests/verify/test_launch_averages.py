"""Tukey's filter and the averages of a launch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.results.compare import averages, tukey_filter

samples = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def quartile(ordered: list[float], share: float) -> float:
    """Type 7 of Hyndman and Fan, from its definition."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@given(samples)
def test_the_filter_is_its_definition(values: list[float]) -> None:
    ordered = sorted(values)
    first, third = quartile(ordered, 0.25), quartile(ordered, 0.75)
    reach = 1.5 * (third - first)
    slack = 1e-9 * (1 + abs(first) + abs(third))
    kept = list(tukey_filter(values))
    surely = [x for x in values if first - reach + slack <= x <= third + reach - slack]
    perhaps = [x for x in values if first - reach - slack <= x <= third + reach + slack]
    assert [x for x in kept if x in surely] == surely
    assert [x for x in perhaps if x in kept] == kept


def test_an_outlier_goes_its_neighbours_stay_in_order() -> None:
    assert list(tukey_filter([5, 4, 90, 6, 5, 4, 6])) == [5, 4, 6, 5, 4, 6]
    # Q1 = 2, Q3 = 4, so the fences are -1 and 7, and belong to what is kept.
    assert list(tukey_filter([2, 2, -1, 3, 4, 7, 2, 4, 4])) == [2, 2, -1, 3, 4, 7, 2, 4, 4]
    assert list(tukey_filter([2, 2, -1.1, 3, 4, 7.1, 2, 4, 4])) == [2, 2, 3, 4, 2, 4, 4]


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=3))
def test_of_three_values_none_is_an_outlier(values: list[int]) -> None:
    """Quartiles of integers are exact; those of equal values but for the last bit are not."""
    assert list(tukey_filter(values)) == values


def test_four_values_may_have_one() -> None:
    assert list(tukey_filter([1.0, 1.0, 1.0, 9.0])) == [1.0, 1.0, 1.0]


def test_median_and_mean_of_each_launch() -> None:
    first, second = averages([[1, 2, 3, 2, 100], [4, 4, 4, 4]])
    assert (first.median, first.mean, first.kept, first.taken) == (2, 2, 4, 5)
    assert (second.median, second.mean, second.kept, second.taken) == (4, 4, 4, 4)
    (raw,) = averages([[1, 2, 3, 2, 100]], filtered=False)
    assert (raw.median, raw.mean, raw.kept) == (2, 21.6, 5)


def test_launches_without_samples_are_refused() -> None:
    for bad in ([], [1.0, math.nan]):
        with pytest.raises(ValueError, match="samples"):
            averages([np.array(bad)])
