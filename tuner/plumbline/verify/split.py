"""Split-robustness: f(n) ⪯ k f(n / k). A message against k pieces of it, one after the other (seed
000, 4.3, names the measurement of the right side as future work).

The right side is the variant that sends the k pieces, measured in the same launches. A function
of which no pieces were measured has k times a measurement in its place: every smaller measured size
m is a candidate, k the smallest multiple with k m ≥ n.

A cell is violated if one candidate is. The candidates of a cell are one member of the family: their
p-values are multiplied by k Σ 1/k (Bonferroni with weights 1/k, fixed before any time is seen),
which spends most of the error on few, large messages. Of the violated ones the best is reported,
the one with the largest ratio. (The paper reports the largest m; which cells are violated is the
same.)
"""

from __future__ import annotations

from plumbline.core.cell import Side
from plumbline.core.guidelines import LIBRARY, Guidelines
from plumbline.verify.index import Index
from plumbline.verify.kinds import Cell, Hypothesis, kind


@kind("split", letter="s", row="function")
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    split = guidelines.split
    result = []
    for function in index.functions():
        measured = any(index.sizes(function, split.variant(function, k)) for k in split.pieces)
        for size in index.sizes(function):
            find = _in_pieces if measured else _products
            candidates = find(index, guidelines, function, size)
            rhs = "" if measured else function
            if candidates:
                result.append(
                    Cell(split.id, "split", function, rhs, size, candidates, split.tolerance)
                )
    return result


def _in_pieces(
    index: Index, guidelines: Guidelines, function: str, size: int
) -> tuple[Hypothesis, ...]:
    there = index.variants(function, size)
    pieces = {k: guidelines.split.variant(function, k) for k in guidelines.split.pieces}
    pieces = {k: variant for k, variant in pieces.items() if variant in there}
    total = sum(1 / k for k in pieces)
    left = Side(function, LIBRARY, size)
    return tuple(
        Hypothesis(left, Side(function, variant, size), weight=k * total)
        for k, variant in pieces.items()
    )


def _products(
    index: Index, guidelines: Guidelines, function: str, size: int
) -> tuple[Hypothesis, ...]:
    left = Side(function, LIBRARY, size)
    parts = [
        part
        for part in reversed(index.sizes(function))
        if 0 < part < size and index.timed(Side(function, LIBRARY, part))
    ]
    total = sum(1 / multiple(part, size) for part in parts)
    return tuple(
        Hypothesis(left, Side(function, LIBRARY, part), k, k * total)
        for part in parts
        for k in [multiple(part, size)]
    )


def multiple(part: int, size: int) -> int:
    """The smallest k with k · part ≥ size."""
    return -(-size // part)
