"""Split-robustness: f(n) ⪯ k f(n / k). A message against k smaller ones of one measured size m, k
the smallest multiple with k m ≥ n (seed 000, 4.3).

Every smaller size is a candidate, and a cell is violated if one candidate is. The candidates of a
cell are one member of the family: their p-values are multiplied by k Σ 1/k (Bonferroni with weights
1/k, fixed before any time is seen), which spends most of the error on few, large messages. Of the
violated m the best is reported, the one with the largest ratio. (The paper reports the largest m;
which cells are violated is the same.)
"""

from __future__ import annotations

from plumbline.guidelines import Guidelines
from plumbline.verify.index import LIBRARY, Index, Side
from plumbline.verify.kinds import Candidate, Cell, kind


@kind("split", letter="s", row="function")
def cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    result = []
    for function in index.functions():
        for size in index.sizes(function):
            candidates = _candidates(index, function, size)
            if candidates:
                result.append(
                    Cell(
                        guidelines.split.id,
                        "split",
                        function,
                        function,
                        size,
                        candidates,
                        guidelines.split.tolerance,
                    )
                )
    return result


def _candidates(index: Index, function: str, size: int) -> tuple[Candidate, ...]:
    left = Side(function, LIBRARY, size)
    parts = [
        part
        for part in reversed(index.sizes(function))
        if 0 < part < size and index.timed(Side(function, LIBRARY, part))
    ]
    total = sum(1 / multiple(part, size) for part in parts)
    return tuple(
        Candidate(left, Side(function, LIBRARY, part), k, k * total)
        for part in parts
        for k in [multiple(part, size)]
    )


def multiple(part: int, size: int) -> int:
    """The smallest k with k · part ≥ size."""
    return -(-size // part)
