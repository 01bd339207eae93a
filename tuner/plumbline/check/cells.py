"""Cells that an acceptance test measures: inside the ranges of winners, on and off the sizes that
the campaign measured. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from plumbline.campaign.other_uses import kinds, other_counts
from plumbline.core.cell import Target
from plumbline.core.plan import (
    EQUAL_COUNTS,
    MESSAGE_FUNCTIONS_IN_BLOCKS,
    REDUCTIONS,
    TYPE_BYTES,
    Data,
)
from plumbline.core.winner import deciding, is_for
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner


class ProgramCell(msgspec.Struct, frozen=True, order=True):
    """`bytes` is the volume n of docs/plan-and-records.md. `type` and `op` are empty where the
    program does not say what it sends; `op` also where nothing is reduced."""

    function: str
    bytes: int
    type: str = ""
    op: str = ""
    counts: str = EQUAL_COUNTS

    def words(self) -> str:
        counts = "" if self.counts == EQUAL_COUNTS else f"counts={self.counts}"
        words = (self.function, f"{self.bytes} B", self.type, self.op, counts)
        return " ".join(word for word in words if word)


def place_of(winners: Sequence[Winner], cell: ProgramCell) -> int | None:
    """Return which of the winners answers calls of the cell."""
    winner = deciding(winners, Target(cell.function, cell.bytes))
    return (
        None
        if winner is None or not is_for(winner, cell.type, cell.counts)
        else winners.index(winner)
    )


def whole(function: str, size: int, width: int, nprocs: int) -> int:
    """The volume that `size` bytes come to in whole elements of `width` bytes, and whole blocks."""
    unit = _unit(function, width, nprocs)
    return -(-size // unit) * unit


def cells(
    winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]], nprocs: int, data: Data
) -> list[ProgramCell]:
    """All cells of the winners: the sizes that the campaign has measured (`sizes`, by function), in
    the type that it had (`data`) and the others that winners are tried with; one size between each
    two, with an odd count; in the campaign's type all of them in each count shape of the function.
    """
    seen_cells: list[ProgramCell] = []
    for function, measured in sizes.items():
        every = kinds(function, data)
        for each in every[:1] if function == "MPI_Barrier" else every:
            width = TYPE_BYTES[each.type]
            op = each.op if function in REDUCTIONS else ""
            points = [whole(function, size, width, nprocs) for size in measured]
            points += _between(winners, function, points, width, nprocs)
            own = each.type == data.of(function).type
            made = [
                ProgramCell(function, size, each.type, op, counts)
                for counts in (EQUAL_COUNTS, *(other_counts(function) if own else ()))
                for size in points
            ]
            seen_cells += [cell for cell in made if place_of(winners, cell) is not None]
    return sorted(set(seen_cells))


def _between(
    winners: Sequence[Winner], function: str, points: Iterable[int], width: int, nprocs: int
) -> Iterator[int]:
    """Sizes that nobody has measured: between two that were, and between those and the ends of the
    range. Of a winner that is for the process as a whole there are none."""
    unit = _unit(function, width, nprocs)
    for winner in winners:
        if winner.function in (EVERY_FUNCTION, "MPI_Barrier") or winner.function != function:
            continue
        ends = [winner.bytes_from, winner.bytes_to]
        inside = [size for size in points if ends[0] <= size <= ends[1]]
        sizes_known = {*inside, *(end for end in ends if unit <= end < UNBOUNDED_BYTES)}
        for low, high in pairwise(sorted(sizes_known)):
            size = (round(math.sqrt(low * high) / unit) | 1) * unit
            if low < size < high:
                yield size


def _unit(function: str, width: int, nprocs: int) -> int:
    return width * (nprocs if function in MESSAGE_FUNCTIONS_IN_BLOCKS else 1)
