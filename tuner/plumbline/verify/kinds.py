"""The kinds of guidelines, in the order of tables. A kind says which cells there are and what is
compared in each; how a comparison is made and judged is the same for all kinds (verify.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Literal

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import LIBRARY, Guidelines, Split
from plumbline.core.plan import Data, part_bytes
from plumbline.verify.index import Index

Name = Literal["monotony", "split", "pattern", "rank", "overlap", "nonblocking"]
Row = Literal["function", "guideline"]


class Hypothesis(msgspec.Struct, frozen=True):
    """A comparison of `left` with `factor` times `right`. `weight` multiplies its p-value inside
    the cell: the sum of 1/weight over a cell's candidates is at most 1 (weighted Bonferroni)."""

    left: Side
    right: Side
    factor: int = 1
    weight: float = 1.0


class Cell(msgspec.Struct, frozen=True):
    """One cell of the violation table and one member of the family of tests. It is violated if one
    of its candidates is; of the violated ones the one with the largest ratio is reported."""

    guideline: str
    kind: Name
    function: str
    rhs: str
    bytes: int
    candidates: tuple[Hypothesis, ...]
    tolerance: float = 0.0


class Kind(msgspec.Struct, frozen=True):
    """`letter` and `row` are the kind's place in the tables: its mark and what a row stands for.
    `benchmarks`: its functions are benchmarks of overlap, which have tables of their own."""

    name: Name
    letter: str
    row: Row
    cells: Callable[[Index, Guidelines], list[Cell]]
    benchmarks: bool = False


_kinds: dict[str, Kind] = {}

Cells = Callable[[Index, Guidelines], list[Cell]]


def kind(
    name: Name, *, letter: str, row: Row, benchmarks: bool = False
) -> Callable[[Cells], Cells]:
    """Registers a function as the guideline kind `name`."""

    def register(cells: Cells) -> Cells:
        if name in _kinds or letter in {registered.letter for registered in _kinds.values()}:
            raise ValueError(f"guideline kind '{name}' ({letter}) is registered twice")
        _kinds[name] = Kind(name, letter, row, cells, benchmarks)
        return cells

    return register


def all_kinds() -> list[Kind]:
    """Registered kinds, in order of registration."""
    return list(_kinds.values())


def of_table(letters: Collection[str]) -> list[Kind]:
    """The kinds that a table speaks of which has rows with these letters."""
    benchmarks = any(kind.benchmarks for kind in all_kinds() if kind.letter in letters)
    return [kind for kind in all_kinds() if kind.benchmarks == benchmarks]


# Monotony: f(n) ⪯ f(n + k). Adjacent measured sizes of each measured function (Hunold et al.,
# Euro-Par 2016, 4.3). The cell stands at the smaller size, whose time is too long.


@kind("monotony", letter="m", row="function")
def monotony_cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    if not guidelines.verifies(guidelines.monotony):
        return []
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


# Split-robustness: f(n) ⪯ k f(n / k). A message against k pieces of it, one after the other (Hunold
# et al., Euro-Par 2016, 4.3, name the measurement of the right side as future work).
# The right side is the variant that sends the k pieces, measured in the same launches. A function
# of which no pieces were measured has k times a measurement in its place: every smaller measured
# size m is a candidate, k the smallest multiple with k m ≥ n.
# A cell is violated if one candidate is. The candidates of a cell are one member of the family:
# their p-values are multiplied by k Σ 1/k (Bonferroni with weights 1/k, fixed before any time is
# seen), which spends most of the error on few, large messages. Of the violated ones the best is
# reported, the one with the largest ratio. (The paper reports the largest m; which cells are
# violated is the same.)


@kind("split", letter="s", row="function")
def split_cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    split = guidelines.split
    result: list[Cell] = []
    for function in index.functions():
        measured = any(index.sizes(function, split.variant(function, k)) for k in split.pieces)
        if measured and guidelines.verifies(split):
            for size in index.sizes(function):
                if candidates := _in_pieces(index, guidelines, function, size):
                    result.append(_split_cell(split, function, size, candidates))
        elif not measured:
            result += multiplied_cells(index, guidelines, function)
    return result


def multiplied_cells(index: Index, guidelines: Guidelines, function: str) -> list[Cell]:
    """Return the cells of a function whose right sides are multiples of measured smaller sizes, as
    in the paper. The candidates of a cell are in descending order of these sizes."""
    split = guidelines.split
    if not guidelines.verifies(split):
        return []
    return [
        _split_cell(split, function, size, candidates, rhs=function)
        for size in index.sizes(function)
        if (candidates := _products(index, function, size))
    ]


def _split_cell(
    split: Split,
    function: str,
    size: int,
    candidates: tuple[Hypothesis, ...],
    *,
    rhs: str = "",
) -> Cell:
    return Cell(split.id, "split", function, rhs, size, candidates, split.tolerance)


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


def _products(index: Index, function: str, size: int) -> tuple[Hypothesis, ...]:
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


# Pattern guidelines: a function against its mock-up out of other functions, at the same size
# (Hunold et al., Euro-Par 2016, 4.3); where the guideline says so, a mock-up against the function
# itself. A size at which only one side was planned has a cell too: it stays undecided.


@kind("pattern", letter="p", row="guideline")
def pattern_cells(index: Index, guidelines: Guidelines) -> list[Cell]:
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


# Rank monotony: f on fewer ranks ⪯ f on more, each rank with the same counts: whoever has more
# ranks could leave some of them idle.
# The cell stands at the size on all ranks of the launch; the left side ran on the first of them.


@kind("rank", letter="r", row="function")
def rank_cells(index: Index, guidelines: Guidelines) -> list[Cell]:
    if guidelines.rank is None:
        return []
    result = []
    for function in index.functions():
        for size in index.sizes(function):
            candidates = _rank_hypotheses(index, function, size)
            if candidates:
                result.append(
                    Cell(guidelines.rank.id, "rank", function, function, size, candidates)
                )
    return result


def _rank_hypotheses(index: Index, function: str, size: int) -> tuple[Hypothesis, ...]:
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


# Overlap: a message beside work ⪯ the message alone, then the work (ratio of A. Denis, F. Trahay,
# ICPP 2016, at most 1). A cell is a benchmark at a size; its amounts of work are its candidates.

NONBLOCKING, BLOCKING = "nonblocking", "blocking"


OVERLAPPED, SERIALISED = "overlapped", "serialised"


@kind("overlap", letter="o", row="function", benchmarks=True)
def overlap_cells(index: Index, guidelines: Guidelines) -> list[Cell]:
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
                Hypothesis(side, _overlap_right(index, side), weight=float(len(lefts)))
                for side in lefts
            ),
        )
        for (function, size), lefts in sides_by_cell.items()
    ]


def _overlap_right(index: Index, left: Side) -> Side:
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
