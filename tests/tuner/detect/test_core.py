"""Columns of numbers: what the core counts is what NumPy sorts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.detect import core
from plumbline.detect.core import Rows, by_owner, classes, distinct, numbered, ranges, rows
from plumbline.system import paths
from plumbline_db.errors import PlumblineError

pairs = st.lists(st.tuples(st.integers(-3, 3), st.integers(-(1 << 62), 1 << 62)), max_size=200)


@given(pairs)
@settings(deadline=None)
def test_equal_pairs_are_one_class_in_the_order_of_the_first(listed: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[side] for pair in listed], np.int64) for side in (0, 1))
    order = list(dict.fromkeys(listed))
    assert numbered(left, right).tolist() == [order.index(pair) for pair in listed]
    found = classes(left, right)
    assert [[listed[at] for at in found[row]] for row in range(len(found))] == [
        [pair] * listed.count(pair) for pair in order
    ]


@given(st.lists(st.integers(0, 9), max_size=100))
@settings(deadline=None)
def test_rows_by_owner(owners: list[int]) -> None:
    found = by_owner(np.array(owners, np.int64), 10)
    assert len(found) == 10
    for owner in range(10):
        assert found[owner].tolist() == [at for at, each in enumerate(owners) if each == owner]
    assert found.owners.tolist() == sorted(owners)


def test_rows_that_are_picked_keep_their_numbers() -> None:
    listed = rows([[5, 6], [], [7], [8, 9, 10]])
    picked = listed.picked(np.array([3, 1, 0]))
    assert [picked[row].tolist() for row in range(len(picked))] == [[8, 9, 10], [], [5, 6]]
    marked = np.zeros(11, bool)
    marked[[7, 9]] = True
    assert listed.with_any(marked).tolist() == [False, False, True, True]
    assert ranges(np.array([3, 8]), np.array([2, 3])).tolist() == [3, 4, 8, 9, 10]


def test_nothing_is_a_row_without_numbers() -> None:
    nothing = np.zeros(0, np.int64)
    assert len(classes(nothing, nothing)) == 0
    assert len(rows([])) == 0
    assert Rows(np.zeros(1, np.int64), nothing).with_any(np.zeros(0, bool)).tolist() == []


@pytest.mark.parametrize("behind", [10, 1 << 40])
def test_distinct_numbers_are_sorted(behind: int) -> None:
    assert distinct(np.array([3, 9, 3, 0]), behind).tolist() == [0, 3, 9]


def test_no_memory_is_an_exception() -> None:
    one = np.array([1])
    with pytest.raises(MemoryError):
        core.call("pl_numbers", 1 << 56, one, one)
    assert numbered(one, one).tolist() == [0]


def test_a_core_that_is_not_built_is_an_error_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    core._library.cache_clear()
    monkeypatch.setattr(
        paths, "layout", lambda: paths.Layout(programs=tmp_path, search_spaces=tmp_path)
    )
    with pytest.raises(PlumblineError, match="make build"):
        numbered(np.array([1]), np.array([1]))
    core._library.cache_clear()
