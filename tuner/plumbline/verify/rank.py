"""Rank monotony: f on fewer ranks ⪯ f on more, each rank with the same counts: whoever has more
ranks could leave some of them idle.

The cell stands at the size on all ranks of the launch; the left side ran on the first of them.
"""

from __future__ import annotations

from plumbline.core.cell import Side
from plumbline.core.guidelines import LIBRARY, Guidelines
from plumbline.core.plan import Data, part_bytes
from plumbline.verify.index import Index
from plumbline.verify.kinds import Cell, Hypothesis, kind


@kind("rank", letter="r", row="function")
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    if guidelines.rank is None:
        return []
    result = []
    for function in index.functions():
        for size in index.sizes(function):
            candidates = _candidates(index, function, size)
            if candidates:
                result.append(
                    Cell(guidelines.rank.id, "rank", function, function, size, candidates)
                )
    return result


def _candidates(index: Index, function: str, size: int) -> tuple[Hypothesis, ...]:
    type_name = index.types.get(function)
    if type_name is None:
        return ()
    data = Data(type_name)
    right = Side(function, LIBRARY, size)
    lefts = [
        Side(function, LIBRARY, part_bytes(function, size, index.nprocs, ranks, data), ranks)
        for ranks in index.fewer_ranks()
    ]
    lefts = [side for side in lefts if index.planned(side)]
    return tuple(Hypothesis(side, right, weight=float(len(lefts))) for side in lefts)
