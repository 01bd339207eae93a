"""Cells of a campaign that are watched, and the reference cases beside them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.core.winner import deciding
from plumbline.daemon.configuration import CanaryTable
from plumbline.watch.chart import CellState
from plumbline_db.records import Verdict, Winner
from plumbline_db.watching import WatchedCell

if TYPE_CHECKING:
    from plumbline.settings.toolchain import Variant

Role = Literal["winner", "violation", "application", "table", "reference"]


class CanaryCell(NamedTuple):
    """`variant`: default, as a user calls it; else that of a reference case."""

    function: str
    variant: str
    bytes: int

    def case(self) -> PlanCase:
        return PlanCase(self.function, self.bytes, self.variant)

    @property
    def named(self) -> str:
        """`MPI_Bcast at 1024 B`."""
        variant = "" if self.variant == "default" else f" ({self.variant})"
        return f"{self.function}{variant} at {self.bytes} B"


def cell_of(watched: WatchedCell) -> CanaryCell:
    return CanaryCell(watched.function, watched.variant, watched.bytes)


def state_of(watched: WatchedCell) -> CellState:
    """Return the detector's state of a watched cell."""
    return msgspec.json.decode(watched.state, type=CellState)


def with_state(watched: WatchedCell, state: CellState) -> WatchedCell:
    return msgspec.structs.replace(watched, state=msgspec.json.encode(state).decode())


class CellRoles(msgspec.Struct, frozen=True):
    """The reasons, by cell, why it is watched."""

    roles: dict[CanaryCell, Role]

    @property
    def references(self) -> list[CanaryCell]:
        return [cell for cell, role in self.roles.items() if role == "reference"]


def choose(
    winners: Sequence[Winner],
    table: Sequence[Verdict],
    weights: Mapping[tuple[str, int], float],
    sizes: Mapping[str, Sequence[int]],
    variants: Sequence[Variant],
    asked: CanaryTable,
) -> CellRoles:
    """Return as many cells that matter, and references, as are asked for at most. `table`: the
    last verdicts; `weights`: shares of an application's time, by function and bytes; `sizes`: those
    that are measured, by function."""
    chosen: dict[CanaryCell, Role] = {}
    ranked: list[tuple[Role, Iterable[CanaryCell]]] = [
        ("winner", _of_winners(winners, sizes)),
        ("violation", _violated(table)),
        ("application", _called(weights)),
        ("table", _measured(sizes)),
    ]
    for role, cells in ranked:
        for cell in cells:
            if len(chosen) < asked.cells:
                chosen.setdefault(cell, role)
    for cell in _references(variants, sizes, asked.references):
        chosen.setdefault(cell, "reference")
    return CellRoles(chosen)


def _of_winners(
    winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]]
) -> Iterator[CanaryCell]:
    """Return the cells of winners, the largest gain first."""
    held = [
        (winner.speedup, CanaryCell(function, "default", size))
        for function, its_sizes in sizes.items()
        for size in its_sizes
        if (winner := deciding(winners, Target(function, size))) is not None
    ]
    for _, cell in sorted(held, key=lambda gain_and_cell: (-gain_and_cell[0], gain_and_cell[1])):
        yield cell


def _violated(table: Sequence[Verdict]) -> Iterator[CanaryCell]:
    """Return the violated cells, the farthest from their guideline first."""
    violated = [
        verdict
        for verdict in table
        if verdict.verdict == "violated" and verdict.replaceable and verdict.ratio
    ]
    for one in sorted(violated, key=lambda verdict: -(verdict.ratio or 0.0)):
        yield CanaryCell(one.function, "default", one.bytes)


def _called(weights: Mapping[tuple[str, int], float]) -> Iterator[CanaryCell]:
    for (function, size), _ in sorted(
        weights.items(), key=lambda weighed: (-weighed[1], weighed[0])
    ):
        yield CanaryCell(function, "default", size)


def _measured(sizes: Mapping[str, Sequence[int]]) -> Iterator[CanaryCell]:
    """All others; functions in turn, and of each its largest size first."""
    by_function = [
        [CanaryCell(function, "default", size) for size in sorted(its_sizes, reverse=True)]
        for function, its_sizes in sizes.items()
    ]
    for row in zip_longest(*by_function):
        yield from (cell for cell in row if cell is not None)


def _references(
    variants: Sequence[Variant], sizes: Mapping[str, Sequence[int]], most: int
) -> list[CanaryCell]:
    """Return cells of our algorithms that send their messages themselves and take any arguments: no
    rule of a library changes them. Functions and sizes in turn, so that few stand for many."""
    every = sorted({size for its_sizes in sizes.values() for size in its_sizes})
    by_function: dict[str, list[CanaryCell]] = {}
    for variant in variants:
        has_sizes = variant.function != "MPI_Barrier"
        if variant.kind == "algorithm" and not variant.restrictions and has_sizes:
            for size in every:
                cell = CanaryCell(variant.function, variant.name, size)
                by_function.setdefault(variant.function, []).append(cell)
    in_turn = [
        _from(cells, number % max(1, len(every)))
        for number, cells in enumerate(by_function.values())
    ]
    rows = zip_longest(*in_turn)
    return [cell for row in rows for cell in row if cell is not None][:most]


def _from(cells: Sequence[CanaryCell], first: int) -> list[CanaryCell]:
    """Return by size, those of the first variant before those of the next, from the `first` one
    on."""
    return [*cells[first:], *cells[:first]]
