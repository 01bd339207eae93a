"""The registry of guideline kinds. A kind says which cells there are and what is compared in each;
how a comparison is made and judged is the same for all kinds (verify.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

import msgspec

from plumbline.core.cell import Side
from plumbline.core.guidelines import Guidelines
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
