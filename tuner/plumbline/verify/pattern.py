"""Pattern guidelines: a function against its mock-up out of other functions, at the same size
(seed 000, 4.3); where the guideline says so, a mock-up against the function itself. A size at which
only one side was planned has a cell too: it stays undecided.
"""

from __future__ import annotations

from plumbline.core.cell import Side
from plumbline.core.guidelines import LIBRARY, Guidelines
from plumbline.verify.index import Index
from plumbline.verify.kinds import Cell, Hypothesis, kind


@kind("pattern", letter="p", row="guideline")
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    result = []
    for pattern in guidelines.patterns:
        sides = (pattern.lhs_variant, pattern.variant)
        sizes = {size for variant in sides for size in index.sizes(pattern.lhs, variant)}
        for size in sorted(sizes):
            left, right = (Side(pattern.lhs, variant, size) for variant in sides)
            result.append(
                Cell(
                    pattern.id,
                    "pattern",
                    pattern.lhs,
                    pattern.lhs if pattern.variant == LIBRARY else pattern.variant,
                    size,
                    (Hypothesis(left, right),),
                )
            )
    return result
