"""Monotony: f(n) ⪯ f(n + k). Adjacent measured sizes of each measured function (seed 000, 4.3).

The cell stands at the smaller size, whose time is too long.
"""

from __future__ import annotations

from itertools import pairwise

from plumbline.core.cell import Side
from plumbline.core.guidelines import LIBRARY, Guidelines
from plumbline.verify.index import Index
from plumbline.verify.kinds import Cell, Hypothesis, kind


@kind("monotony", letter="m", row="function")
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    return [
        Cell(
            guidelines.monotony.id,
            "monotony",
            function,
            function,
            smaller,
            (Hypothesis(Side(function, LIBRARY, smaller), Side(function, LIBRARY, larger)),),
        )
        for function in index.functions()
        for smaller, larger in pairwise(index.sizes(function))
    ]
