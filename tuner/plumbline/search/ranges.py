"""Ranges of sizes that winners hold, and what is left of them where others take over. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner

from .outcome import holds
from .space.cells import Target

Sizes = Mapping[str, Sequence[int]]

# A winner without an upper end must do no harm up to this size. A simulated machine holds the
# buffers of all ranks in one process, which bounds the size too.
FAR_BYTES = 4 << 20
_MOST_BYTES_OF_ALL_RANKS = 1 << 30


def far_sizes(winner: Winner, sizes: Sequence[int]) -> list[int]:
    """Return the sizes above the measured `sizes` of a function at which a winner without an upper
    end has to be compared with the default: FAR_BYTES, and the size half-way to it on a logarithmic
    scale. A setting that moves the size at which messages go another way is at home below."""
    largest = max(sizes, default=0)
    far = min(FAR_BYTES, _MOST_BYTES_OF_ALL_RANKS // winner.nprocs)
    moves_switch = winner.function == EVERY_FUNCTION and winner.bytes_from > 0
    if winner.bytes_to != UNBOUNDED_BYTES or moves_switch or not 0 < largest < far:
        return []
    return [math.isqrt(largest * far), far]


def with_measured(winner: Winner, sizes: Sizes) -> Winner:
    """Return the winner with the smallest and the largest size at which it was measured."""
    every = sizes if winner.function == EVERY_FUNCTION else [winner.function]
    inside = [
        size
        for function in every
        for size in [*sizes[function], *far_sizes(winner, sizes[function])]
        if winner.bytes_from <= size <= winner.bytes_to
    ]
    if not inside:
        return winner
    return msgspec.structs.replace(winner, measured_from=min(inside), measured_to=max(inside))


def cut_back(standing: Iterable[Winner], new: Sequence[Winner]) -> list[Winner]:
    """`standing` without the sizes that `new` variants take. A standing knob keeps its whole range:
    the preload library decides before the library's own rules do."""
    kept: list[Winner] = []
    for winner in standing:
        pieces = [winner]
        if winner.variant != "default":
            for other in new:
                if other.function == winner.function:
                    taken = other.bytes_from, other.bytes_to
                    pieces = [part for piece in pieces for part in without(piece, *taken)]
        kept += pieces
    return kept


def beside(chosen: Iterable[Winner], standing: Sequence[Winner], sizes: Sizes) -> list[Winner]:
    """`chosen` without the sizes that others in the same files hold."""
    kept: list[Winner] = []
    for winner in chosen:
        pieces = [winner]
        for other in standing:
            alike = (other.variant == "default") == (winner.variant == "default")
            if other.function == winner.function and alike:
                taken = other.bytes_from, other.bytes_to
                pieces = [part for piece in pieces for part in without(piece, *taken)]
        kept += pieces
    return measured(kept, sizes)


def measured(winners: Iterable[Winner], sizes: Sizes) -> list[Winner]:
    """Without what is left of no measured size: no cell of the table would prove or confirm it."""
    return [
        winner
        for winner in winners
        if winner.function == EVERY_FUNCTION
        or any(
            holds(winner, Target(winner.function, size)) for size in sizes.get(winner.function, ())
        )
    ]


def inside(winner: Winner, kept: Collection[Target], sizes: Sequence[int]) -> list[Winner]:
    """The pieces of a winner that hold the cells `kept` and no other of the measured `sizes`, each
    with what it removes there. An end of the winner stays where the size next to it is kept."""
    held = [size for size in sorted(sizes) if holds(winner, Target(winner.function, size))]
    runs: list[list[int]] = []
    for number, size in enumerate(held):
        if Target(winner.function, size) not in kept:
            continue
        if number and runs and runs[-1][-1] == held[number - 1]:
            runs[-1].append(size)
        else:
            runs.append([size])
    return [
        piece(
            winner,
            winner.bytes_from if run[0] == held[0] else run[0],
            winner.bytes_to if run[-1] == held[-1] else run[-1],
        )
        for run in runs
    ]


def piece(winner: Winner, first: int, last: int) -> Winner:
    """A winner for these bytes alone, with what it removes there."""
    removes = [name for name in winner.removes if first <= int(name.rpartition("@")[2]) <= last]
    return msgspec.structs.replace(winner, bytes_from=first, bytes_to=last, removes=removes)


def without(winner: Winner, first: int, last: int) -> list[Winner]:
    """What is left of a winner beside these bytes."""
    parts = []
    if winner.bytes_from < first:
        end = min(winner.bytes_to, first - 1)
        parts.append(msgspec.structs.replace(winner, bytes_to=end))
    if winner.bytes_to > last:
        start = max(winner.bytes_from, last + 1)
        parts.append(msgspec.structs.replace(winner, bytes_from=start))
    return parts
