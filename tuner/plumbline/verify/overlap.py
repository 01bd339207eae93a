"""Overlap: a message beside work ⪯ the message alone, then the work (ratio of A. Denis, F. Trahay,
ICPP 2016, at most 1). A cell is a benchmark at a size; its amounts of work are its candidates.
"""

from __future__ import annotations

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines
from plumbline.verify.index import Index
from plumbline.verify.kinds import Cell, Hypothesis, kind

NONBLOCKING, BLOCKING = "nonblocking", "blocking"


OVERLAPPED, SERIALISED = "overlapped", "serialised"


@kind("overlap", letter="o", row="function", benchmarks=True)
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    if guidelines.overlap is None:
        return []
    sides_by_cell: dict[tuple[str, int], list[Side]] = {}
    for side in index.of_variant(OVERLAPPED):
        sides_by_cell.setdefault((side.function, side.bytes), []).append(side)
    return [
        Cell(
            guidelines.overlap.id,
            "overlap",
            function,
            "",
            size,
            tuple(
                Hypothesis(side, _right(index, side), weight=float(len(lefts))) for side in lefts
            ),
        )
        for (function, size), lefts in sides_by_cell.items()
    ]


def _right(index: Index, left: Side) -> Side:
    """Return the right side with the same work; there is one."""
    work = left.variant.partition(":")[2]
    for side in index.of_variant(SERIALISED):
        same = (side.function, side.bytes) == (left.function, left.bytes)
        if same and side.variant.partition(":")[2].split(",")[0] == work:
            return side
    return msgspec.structs.replace(left, variant=f"{SERIALISED}:{work}")


@kind("nonblocking", letter="n", row="function", benchmarks=True)
def nonblocking_cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    if guidelines.nonblocking is None:
        return []
    return [
        Cell(
            guidelines.nonblocking.id,
            "nonblocking",
            side.function,
            BLOCKING,
            side.bytes,
            (Hypothesis(side, msgspec.structs.replace(side, variant=BLOCKING)),),
        )
        for side in index.of_variant(NONBLOCKING)
    ]
