"""Which cells of a grid are measured one by one. Pure.

Every fourth value of both axes, the ends and the middles of the rectangles between them come first.
A rectangle whose cells agree within what a heat map can show is not looked into: what lies in it is
inferred. Others are cut in four, until neighbours are next to each other. Cells are named by their
numbers on both axes; each has a ratio for every rank that takes its time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from plumbline.overlap.metric import Ratio

_COARSE = 4  # steps between the first values
STAGES = 3  # until cells are next to each other: steps of 4, 2 and 1
# Of the overhead ratio: what makes no visible colour, and what makes none that the intervals tell
# apart. From 1 on relative: the colours end at 2.
_SAME, _SAME_IF_INTERVALS_MEET = 0.1, 0.2

Index = tuple[int, int]
Seen = Mapping[Index, Sequence[Ratio | None]]


class Rectangle(msgspec.Struct, frozen=True):
    """Between two columns and two rows; of one cell where they are the same. `middle`: the cell in
    the middle is one of those that must agree."""

    left: int
    right: int
    low: int
    high: int
    middle: bool = False

    def corners(self) -> list[Index]:
        return sorted(itertools.product({self.left, self.right}, {self.low, self.high}))

    def cells(self) -> list[Index]:
        """Those that are measured before it is judged."""
        middle = [((self.left + self.right) // 2, (self.low + self.high) // 2)]
        return sorted({*self.corners(), *(middle if self.middle else [])})

    def quarters(self) -> list[Rectangle]:
        """None where there is no cell inside."""
        columns, rows = _halves(self.left, self.right), _halves(self.low, self.high)
        if len(columns) == len(rows) == 1:
            return []
        return [Rectangle(*column, *row) for column in columns for row in rows]

    def inside(self) -> Iterator[Index]:
        return itertools.product(range(self.left, self.right + 1), range(self.low, self.high + 1))


def missing(columns: int, rows: int, seen: Seen) -> list[Index]:
    """The cells to be measured next, of a grid of so many columns and rows; none: it is known."""
    wanted: set[Index] = set()
    open_ = _first(columns, rows)
    while open_:
        one = open_.pop()
        unknown = [cell for cell in one.cells() if cell not in seen]
        wanted.update(unknown)
        if not unknown and not _agrees(one, seen):
            open_ += one.quarters()
    return sorted(wanted)


def inferred(columns: int, rows: int, seen: Seen) -> dict[Index, list[Ratio | None]]:
    """The cells that are not measured. Where cells are missing, as in an unfinished campaign,
    nothing is inferred from the others of their rectangle."""
    found: dict[Index, list[Ratio | None]] = {}
    open_ = _first(columns, rows)
    while open_:
        one = open_.pop()
        if any(cell not in seen for cell in one.cells()):
            continue
        if not _agrees(one, seen):
            open_ += one.quarters()
            continue
        for cell in one.inside():
            if cell not in seen and cell not in found:
                found[cell] = _between(one, cell, seen)
    return found


def _first(columns: int, rows: int) -> list[Rectangle]:
    return [
        Rectangle(*column, *row, middle=True) for column in _spans(columns) for row in _spans(rows)
    ]


def _spans(count: int) -> list[Index]:
    """0-4, 4-8 … to the last value."""
    if count == 1:
        return [(0, 0)]
    return [(low, min(low + _COARSE, count - 1)) for low in range(0, count - 1, _COARSE)]


def _halves(low: int, high: int) -> list[Index]:
    if high - low < 2:
        return [(low, high)]
    middle = (low + high) // 2
    return [(low, middle), (middle, high)]


def _agrees(one: Rectangle, seen: Seen) -> bool:
    """On every rank: all say nothing, or none does and they are alike, and the line where the
    message takes as long as the work does not pass between them."""
    by_rank = zip(*(seen[cell] for cell in one.cells()), strict=True)
    return all(_alike(those) for those in by_rank)


def _alike(those: Sequence[Ratio | None]) -> bool:
    told = [ratio for ratio in those if ratio is not None and not ratio.noisy]
    if len(told) < len(those):
        return not told
    if len({ratio.communication > ratio.computation for ratio in told}) > 1:
        return False
    values = [ratio.value for ratio in told]
    apart = (max(values) - min(values)) / max(1.0, min(values))
    meet = max(ratio.low for ratio in told) <= min(ratio.high for ratio in told)
    return apart < _SAME or (meet and apart < _SAME_IF_INTERVALS_MEET)


def _between(one: Rectangle, cell: Index, seen: Seen) -> list[Ratio | None]:
    """Of every rank: the corners, weighed by how near they are (on logarithmic axes)."""
    corners = one.corners()
    weights = [_share(one, corner, cell) for corner in corners]
    return [_mixed(those, weights) for those in zip(*(seen[at] for at in corners), strict=True)]


def _share(one: Rectangle, corner: Index, cell: Index) -> float:
    across = abs(corner[0] - cell[0]) / max(1, one.right - one.left)
    up = abs(corner[1] - cell[1]) / max(1, one.high - one.low)
    return (1 - across) * (1 - up)


def _mixed(those: Sequence[Ratio | None], weights: Sequence[float]) -> Ratio | None:
    """The interval is as wide as those of all corners together."""
    told = [ratio for ratio in those if ratio is not None]
    if len(told) < len(those):
        return None
    pairs = list(zip(told, weights, strict=True))
    communication = math.exp(sum(weight * math.log(ratio.communication) for ratio, weight in pairs))
    computation = math.exp(sum(weight * math.log(ratio.computation) for ratio, weight in pairs))
    value = sum(weight * ratio.value for ratio, weight in pairs)
    return Ratio(
        communication=communication,
        computation=computation,
        both=max(communication, computation) + value * min(communication, computation),
        value=value,
        low=min(ratio.low for ratio in told),
        high=max(ratio.high for ratio in told),
        noisy=told[0].noisy,
    )
