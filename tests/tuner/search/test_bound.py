"""Which right-hand side bounds a cell."""

from __future__ import annotations

import msgspec

from plumbline.core.cell import Target
from plumbline.search.race.judging import ViolationBound, bounds
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline_db.records import Verdict
from tests.db import build

CELL = Target("MPI_Allreduce", 16384)


def violated(ratio: float, **changes: object) -> Verdict:
    return build.verdict("before", ratio=ratio, **changes)


def test_the_fastest_right_hand_side_is_the_bound() -> None:
    slow = violated(1.2, guideline="GL13", rhs="allreduce_as_other")
    fast = violated(1.9)
    for table in ([slow, fast], [fast, slow]):
        (found,) = bounds(table).items()
        assert found == (
            CELL,
            ViolationBound("GL12@16384", CELL, Candidate("allreduce_as_reduce_plus_bcast")),
        )


def test_another_size_of_the_function_itself_and_pieces() -> None:
    larger = violated(1.3, guideline="GL1", kind="monotony", rhs="MPI_Allreduce", other_bytes=65536)
    assert bounds([larger])[CELL] == ViolationBound("GL1@16384", Target("MPI_Allreduce", 65536))
    pieces = msgspec.structs.replace(
        larger, guideline="GL2", kind="split", other_bytes=4096, factor=4
    )
    bound = bounds([pieces])[CELL]
    assert (bound.cell.bytes, bound.times, bound.candidate) == (4096, 4, DEFAULT)
    assert bound.case.bytes == 4096


def test_what_holds_or_cannot_be_replaced_is_no_bound() -> None:
    table = [
        violated(1.9, verdict="holds"),
        violated(1.9, verdict="undecided"),
        violated(1.9, lhs="allreduce_as_iallreduce_plus_wait"),
        violated(1.9, kind="rank", ranks=2),
    ]
    assert bounds(table) == {}
