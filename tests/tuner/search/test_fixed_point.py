"""The rounds of a campaign, and what takes them away."""

from __future__ import annotations

from plumbline.campaign.states import FixedPoint
from plumbline_db.records import Verdict, Winner
from tests.db import build


def table(*violated: tuple[str, str, int]) -> list[Verdict]:
    found = [build.verdict("before", verdict="holds", guideline="GL5", function="MPI_Allgather")]
    return found + [
        build.verdict("before", guideline=guideline, function=function, bytes=size)
        for guideline, function, size in violated
    ]


def winner(function: str, low: int = 1, high: int = 99999, **more: object) -> Winner:
    return build.winner(function=function, bytes_from=low, bytes_to=high, **more)


BCAST, SCAN = winner("MPI_Bcast"), winner("MPI_Scan")


def test_a_round_is_kept_whatever_its_number_of_violations() -> None:
    """A winner is a gain: what it opens is searched, and it stays."""
    fixed = FixedPoint(table(("GL10", "MPI_Bcast", 64)))
    more = table(("GL7", "MPI_Scatter", 64), ("GL12", "MPI_Allreduce", 64))
    fixed.enter("round-1", [BCAST], more)
    assert fixed.last.stage == "round-1" and fixed.last.table == more


def test_a_winner_that_is_lost_takes_its_rounds_along() -> None:
    fixed = FixedPoint(table())
    fixed.enter("round-1", [SCAN], table())
    fixed.enter("round-2", [SCAN, BCAST], table())
    piece = winner("MPI_Bcast", 1, 10)
    assert [one.stage for one in fixed.withdraw([piece])] == ["round-2"]
    assert fixed.last.stage == "round-1"
    assert [one.stage for one in fixed.withdraw([SCAN])] == ["round-1"]
    assert fixed.last.stage == "before" and fixed.withdraw([SCAN, BCAST]) == []
