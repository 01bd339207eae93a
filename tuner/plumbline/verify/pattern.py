"""Pattern guidelines: a function against its mock-up out of other functions, at the same size
(seed 000, 4.3). A size at which only one side was planned has a cell too: it stays undecided.
"""

from __future__ import annotations

from plumbline.guidelines import Guidelines
from plumbline.verify.index import LIBRARY, Index, Side
from plumbline.verify.kinds import Candidate, Cell, kind


@kind("pattern", letter="p", row="guideline")
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    result = []
    for pattern in guidelines.patterns:
        sizes = {*index.sizes(pattern.lhs), *index.sizes(pattern.lhs, pattern.variant)}
        for size in sorted(sizes):
            left = Side(pattern.lhs, LIBRARY, size)
            right = Side(pattern.lhs, pattern.variant, size)
            result.append(
                Cell(
                    pattern.id,
                    "pattern",
                    pattern.lhs,
                    pattern.variant,
                    size,
                    (Candidate(left, right),),
                )
            )
    return result
