"""Winners of a search of some cells, together with those that were in force. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding, of_measured_sizes, without_sizes
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner

Range = tuple[int, int]  # of sizes, both ends included
Sizes = Mapping[str, Sequence[int]]


def merged(
    standing: Sequence[Winner],
    new: Sequence[Winner],
    searched: Sizes,
    sizes: Sizes,
    *,
    beneath: bool,
) -> list[Winner]:
    """`searched` sizes of functions are decided by `new`, all else by `standing`. `sizes`: those
    that were measured for the latter. `beneath`: the rules in force were part of the library that
    was searched, so that they stay where nothing better was found."""
    kept: list[Winner] = []
    for winner in standing:
        better = [each for each in new if each.function == winner.function]
        stays = beneath and winner.variant == "default"
        decided = [
            each
            for each in _ranges(winner.function, searched, sizes)
            if not stays or any(_meets(other, each) for other in better)
        ]
        kept += _without(winner, decided)
    for winner in new:
        if winner.function == EVERY_FUNCTION:
            kept.append(winner)
        kept += [
            _within(winner, each)
            for each in _joined(_ranges(winner.function, searched, sizes))
            if _meets(winner, each)
        ]
    return of_measured_sizes(kept, _both(searched, sizes))


def same(standing: Sequence[Winner], other: Sequence[Winner], searched: Sizes) -> bool:
    """Whether the searched cells get the same from both."""
    cells = [Target(function, size) for function, sizes in searched.items() for size in sizes]
    return all(_choice(standing, cell) == _choice(other, cell) for cell in cells)


def _choice(winners: Sequence[Winner], cell: Target) -> tuple[str, dict[str, str]]:
    winner = deciding(winners, cell)
    return ("default", {}) if winner is None else (winner.variant, winner.configuration)


def _ranges(function: str, searched: Sizes, sizes: Sizes) -> list[Range]:
    """What each searched size decides: from it to below the next one, the smallest from 0."""
    every = sorted({*sizes.get(function, ()), *searched.get(function, ())})
    if not every:
        return []
    ends = [0, *every[1:], UNBOUNDED_BYTES + 1]
    by_size = {
        size: (low, high - 1) for size, (low, high) in zip(every, pairwise(ends), strict=True)
    }
    return [by_size[size] for size in sorted(searched.get(function, ()))]


def _joined(found: Iterable[Range]) -> list[Range]:
    joined: list[Range] = []
    for low, high in found:
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def _meets(winner: Winner, where: Range) -> bool:
    return winner.bytes_from <= where[1] and where[0] <= winner.bytes_to


def _within(winner: Winner, where: Range) -> Winner:
    return msgspec.structs.replace(
        winner,
        bytes_from=max(winner.bytes_from, where[0]),
        bytes_to=min(winner.bytes_to, where[1]),
    )


def _without(winner: Winner, taken: Iterable[Range]) -> list[Winner]:
    pieces = [winner]
    for low, high in taken:
        pieces = [part for piece in pieces for part in without_sizes(piece, low, high)]
    return pieces


def _both(searched: Sizes, sizes: Sizes) -> dict[str, list[int]]:
    return {
        function: sorted({*sizes.get(function, ()), *searched.get(function, ())})
        for function in {**sizes, **searched}
    }
