"""Algorithms by size, written and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_exporters import mv2_ranges
from plumbline_exporters.mv2_ranges import Range


@st.composite
def ranges(draw: st.DrawFn) -> list[Range]:
    bounds = sorted(draw(st.sets(st.integers(1, 2**40), max_size=6)))
    starts = [0, *bounds]
    lasts: list[int | None] = [*(bound - 1 for bound in bounds), None]
    algorithms = draw(st.lists(st.integers(0, 99), min_size=len(starts), max_size=len(starts)))
    return [Range(*one) for one in zip(algorithms, starts, lasts, strict=True)]


@given(ranges())
def test_what_is_written_is_read(wanted: list[Range]) -> None:
    assert mv2_ranges.read(mv2_ranges.write(wanted)) == wanted


@given(st.text(alphabet="0123456789:,-+ x", max_size=20))
def test_what_is_read_is_written_alike(text: str) -> None:
    """What the library would take for something else is an error."""
    try:
        found = mv2_ranges.read(text)
    except ValueError:
        return
    assert mv2_ranges.read(mv2_ranges.write(found)) == found
    assert found[0].first == 0 and found[-1].last is None


@pytest.mark.parametrize(
    "text", ["", "2", "2:0-8", "2:1-+", "2:0-8,3:8-+", "2:0-8,3:10-+", "2:0-+,3:9-+", "2:0-+,"]
)
def test_sizes_that_are_missing_or_there_twice(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not ALGORITHM|sizes"):
        mv2_ranges.read(text)
    if text == "2":
        assert not mv2_ranges.has_sizes(text)
