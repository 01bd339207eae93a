"""Algorithms by size, written and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_exporters import by_size
from plumbline_exporters.by_size import Range
from plumbline_exporters.family import mvapich2


@st.composite
def ranges(draw: st.DrawFn) -> list[Range]:
    bounds = sorted(draw(st.sets(st.integers(1, 2**40), max_size=6)))
    starts = [0, *bounds]
    lasts: list[int | None] = [*(bound - 1 for bound in bounds), None]
    algorithms = draw(st.lists(st.integers(0, 99), min_size=len(starts), max_size=len(starts)))
    return [Range(*one) for one in zip(algorithms, starts, lasts, strict=True)]


@given(ranges())
def test_what_is_written_is_read(wanted: list[Range]) -> None:
    assert by_size.read(by_size.write(wanted)) == wanted


@given(st.text(alphabet="0123456789:,-+ x", max_size=20))
def test_what_is_read_is_written_alike(text: str) -> None:
    """What the library would take for something else is an error."""
    try:
        found = by_size.read(text)
    except ValueError:
        return
    assert by_size.read(by_size.write(found)) == found
    assert found[0].first == 0 and found[-1].last is None


@pytest.mark.parametrize(
    "text", ["", "2", "2:0-8", "2:1-+", "2:0-8,3:8-+", "2:0-8,3:10-+", "2:0-+,3:9-+", "2:0-+,"]
)
def test_sizes_that_are_missing_or_there_twice(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not ALGORITHM|sizes"):
        by_size.read(text)
    if text == "2":
        assert not by_size.has_sizes(text)


OFF = {"MV2_USE_INDEXED_TUNING": "0", "MV2_USE_INDEXED_ALLREDUCE_TUNING": "0"}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"MV2_INTER_ALLREDUCE_TUNING": "9"}, ""),
        ({"MV2_INTER_ALLREDUCE_TUNING": "9", "MV2_USE_INDEXED_TUNING": "0"}, ""),
        ({"MV2_INTER_ALLREDUCE_TUNING": "1"} | OFF, ""),
        ({"MV2_INTER_ALLREDUCE_TUNING": "9"} | OFF, "only in the indexed mode"),
        ({"MV2_INTER_ALLREDUCE_TUNING": "1:0-63,9:64-+"} | OFF, ""),
        ({"MV2_INTER_REDUCE_TUNING": "1:0-63,5:64-+"}, ""),
        ({"MV2_INTER_REDUCE_TUNING": "1:0-63,6:64-+"}, "algorithm 6 does not exist in ranges"),
        ({"MV2_INTER_ALLGATHER_TUNING": "2:0-63,5:64-+"}, "algorithm 5 does not exist in ranges"),
        ({"MV2_ALLTOALLV_TUNING": "0:0-63,1:64-+"}, "takes no sizes here"),
        ({"MV2_INTER_BCAST_TUNING": "2:0-63,5:65-+"}, "do not meet"),
    ],
)
def test_what_would_be_void_in_silence(values: dict[str, str], why: str) -> None:
    said = mvapich2.refused(next(iter(values)), values)
    assert why in said and bool(why) == bool(said)


def test_the_library_s_table_has_room_for_32_ranges() -> None:
    def alternating(count: int) -> list[Range]:
        last: list[int | None] = [*range(1, count), None]
        return [Range(one % 2 + 1, one, last[one] and one) for one in range(count)]

    assert by_size.read(by_size.write(alternating(32))) == alternating(32)
    with pytest.raises(ValueError, match="more than 32 ranges"):
        by_size.write(alternating(33))


@pytest.mark.parametrize(
    ("eager", "queue", "short"),
    [
        ("65536", "131072", True),  # the end of a message counts
        ("64K", "128k", True),
        ("65535", "131072", False),
        ("32768", "131072", False),
        ("", "1024", False),
    ],
)
def test_an_eager_message_fills_half_of_the_queue_at_most(
    eager: str, queue: str, short: bool
) -> None:
    assert mvapich2.queue_is_short({mvapich2.EAGER: eager, mvapich2.QUEUE: queue}) == short
