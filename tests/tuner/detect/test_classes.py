"""Which messages are looked at together, and what is left out before that (candidates.c)."""

from __future__ import annotations

import numpy as np
import pytest

from plumbline.detect.core import Indices
from plumbline.detect.traffic import (
    ClassSearch,
    Instance,
    Shared,
    Traffic,
    classes_of,
    in_classes,
    traffic,
)
from tests.tuner.detect.program import RankProgram

ROWS = ((0, 1, 2), (3, 4, 5))


def around(program: RankProgram, ranks: tuple[int, ...], tag: int) -> None:
    """A signal that goes round twice: a barrier."""
    for line in ("a.c:1", "a.c:2"):
        for at, rank in enumerate(ranks):
            program.message(rank, ranks[(at + 1) % len(ranks)], b"", tag=tag, site=line)


def rows_and_all() -> Traffic:
    """Of six ranks: rows of three; all of them; two that others have nothing to do with."""
    program = RankProgram(6)
    for _ in range(2):
        for row in ROWS:
            around(program, row, 1)
        around(program, tuple(range(6)), 2)
        around(program, (0, 1), 3)
    return traffic(program.recording())


def looked_at(
    messages: Traffic, ways: tuple[Shared, ...], search: ClassSearch = ClassSearch.BARRIERS
) -> list[tuple[tuple[int, ...], list[int]]]:
    found: list[tuple[tuple[int, ...], list[int]]] = []

    def look(comm: int, group: tuple[int, ...], members: Indices) -> list[Instance]:
        assert comm == 0
        found.append((group, members.tolist()))
        return []

    in_classes(messages, np.arange(len(messages)), ways, search, look)
    return found


def test_messages_by_what_they_share() -> None:
    messages = rows_and_all()
    rows = classes_of(messages, np.arange(len(messages)), Shared.TAG)
    assert [set(messages.tag[rows[row]].tolist()) for row in range(len(rows))] == [{1}, {2}, {3}]
    assert sorted(rows.at.tolist()) == list(range(len(messages)))
    both = classes_of(messages, np.arange(len(messages)), Shared.TAG | Shared.SITE)
    assert len(both) == 6


def test_groups_are_rows_or_all() -> None:
    messages = rows_and_all()
    found = looked_at(messages, (Shared.TAG,))
    assert [group for group, _ in found] == [*ROWS, tuple(range(6))]
    for group, members in found:
        assert {*messages.source[members].tolist()} == {*group}
        assert members == sorted(members) and len(set(messages.tag[members].tolist())) == 1


def test_what_was_looked_at_is_not_looked_at_again() -> None:
    messages = rows_and_all()
    once = looked_at(messages, (Shared.TAG,))
    assert looked_at(messages, (Shared.TAG, Shared.TAG | Shared.BYTES)) == once


@pytest.mark.parametrize("search", [ClassSearch.REDUCTIONS, ClassSearch.SURE_REDUCTIONS])
def test_neighbours_that_say_different_things_are_no_reduction(search: ClassSearch) -> None:
    """All know of all in the end, but who knew the same has sent different things."""
    program = RankProgram(4)
    random = np.random.default_rng(1)
    for _ in range(20):
        for step in (1, -1):
            for rank in range(4):
                program.message(rank, (rank + step) % 4, random.random(4), tag=1)
    assert looked_at(traffic(program.recording()), (Shared.TAG,), search) == []


def test_sums_are_looked_at() -> None:
    program = RankProgram(4)
    random = np.random.default_rng(1)
    for _ in range(20):
        values = list(random.random((4, 4)))
        for step in (1, 2):
            values_then = [value.copy() for value in values]
            for rank in range(4):
                program.send(rank, rank ^ step, values_then[rank], tag=1)
            for rank in range(4):
                program.receive(rank, rank ^ step, tag=1)
                values[rank] = values_then[rank] + values_then[rank ^ step]
    assert len(looked_at(traffic(program.recording()), (Shared.TAG,), ClassSearch.REDUCTIONS)) == 1
