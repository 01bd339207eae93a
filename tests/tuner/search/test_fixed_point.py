"""Which rounds stand, and who is undone."""

from __future__ import annotations

from plumbline.core.guidelines import load
from plumbline.search.fixed_point import FixedPoint
from plumbline.search.order import Order
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


GL10, GL7 = ("GL10", "MPI_Bcast", 64), ("GL7", "MPI_Scatter", 64)
GL12, GL16 = ("GL12", "MPI_Allreduce", 64), ("GL16", "MPI_Scan", 64)
BCAST, SCAN = winner("MPI_Bcast"), winner("MPI_Scan")


def begun(*violated: tuple[str, str, int]) -> FixedPoint:
    return FixedPoint(table(*violated), Order(load().selected(())))


def test_a_round_with_more_violations_does_not_stand() -> None:
    fixed = begun(GL10)
    assert not fixed.enter("round-1", [BCAST], table(GL7, GL12))
    assert fixed.last.stage == "before" and fixed.stands([]) and not fixed.stands([BCAST])
    assert fixed.enter("round-2", [BCAST], table(GL7))
    assert fixed.stands([BCAST])
    assert not fixed.enter("round-3", [BCAST, SCAN], table(GL7, GL12))


def test_who_raises_more_than_he_removes_is_undone() -> None:
    fixed = begun(GL10, GL16)
    now = table(GL7, GL12, ("GL11", "MPI_Allgather", 64))
    assert fixed.culprits([BCAST, SCAN], now) == [BCAST]
    assert fixed.without([BCAST], [BCAST, SCAN]) == [SCAN]


def test_somebody_is_undone_whatever_the_numbers_are() -> None:
    """A violation that nobody raised takes all new winners along, one that two share the worse."""
    fixed = begun(GL16)
    assert fixed.culprits([SCAN], table(GL16, ("GL3", "MPI_Gather", 64))) == [SCAN]
    reduce = winner("MPI_Reduce")
    many = [("GL14", "MPI_Reduce", size) for size in (64, 128)]
    fixed = begun(*many, GL10)
    now = table(GL12, *[("GL3", "MPI_Gather", size) for size in (1, 2, 3)])
    assert fixed.culprits([BCAST, reduce], now) == [BCAST]


def test_what_stood_before_is_no_culprit_and_comes_back_whole() -> None:
    ours = winner("MPI_Bcast", variant="bcast_chain")
    fixed = begun(GL10, GL16)
    assert fixed.enter("round-1", [ours], table(GL16))
    new = winner("MPI_Bcast", 1, 100, variant="bcast_binary")
    cut = winner("MPI_Bcast", 101, 99999, variant="bcast_chain")
    assert fixed.culprits([cut, new], table(GL16, GL7)) == [new]
    assert fixed.without([new], [cut, new]) == [ours]
    assert fixed.stands([ours]) and not fixed.stands([cut, new])


def test_a_winner_that_is_lost_takes_its_rounds_along() -> None:
    fixed = begun(GL10, GL16)
    assert fixed.enter("round-1", [SCAN], table(GL10))
    assert fixed.enter("round-2", [SCAN, BCAST], table())
    piece = winner("MPI_Bcast", 1, 10)
    assert [one.stage for one in fixed.withdraw([piece])] == ["round-2"]
    assert fixed.last.stage == "round-1"
    assert [one.stage for one in fixed.withdraw([SCAN])] == ["round-1"]
    assert fixed.last.stage == "before" and fixed.withdraw([SCAN, BCAST]) == []
