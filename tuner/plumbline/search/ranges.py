"""Ranges of sizes that winners hold, and what is left of them where others take over. Pure."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Tried, Winner

from .outcome import holds
from .space.candidates import CandidateSpace
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


def joined(winners: Sequence[Winner], sizes: Sizes) -> list[Winner]:
    """The winners in their order, those that adjoin and are one configuration as one; gains are
    means over the measured sizes."""
    rows: list[tuple[int, Winner]] = []
    begins = operator.attrgetter("function", "variant", "bytes_from")
    for place, winner in sorted(enumerate(winners), key=lambda numbered: begins(numbered[1])):
        if rows and _continues(rows[-1][1], winner):
            first, last = rows[-1]
            rows[-1] = first, _together(last, winner, sizes)
        else:
            rows.append((place, winner))
    return [winner for _, winner in sorted(rows, key=operator.itemgetter(0))]


def _continues(last: Winner, winner: Winner) -> bool:
    ends = msgspec.structs.replace(
        winner,
        bytes_from=last.bytes_from,
        bytes_to=last.bytes_to,
        measured_from=last.measured_from,
        measured_to=last.measured_to,
        removes=last.removes,
        tried=last.tried,
        search_speedup=last.search_speedup,
        speedup=last.speedup,
        speedup_low=last.speedup_low,
        speedup_high=last.speedup_high,
    )
    return ends == last and winner.bytes_from == last.bytes_to + 1


def _together(left: Winner, right: Winner, sizes: Sizes) -> Winner:
    first, second = (
        sum(holds(one, Target(one.function, size)) for size in sizes.get(one.function, ()))
        for one in (left, right)
    )

    def mean(gain: Callable[[Winner], float]) -> float:
        return _mean(gain(left), first, gain(right), second)

    return msgspec.structs.replace(
        left,
        bytes_to=right.bytes_to,
        removes=sorted({*left.removes, *right.removes}),
        tried=_pooled([*left.tried, *right.tried]),
        search_speedup=mean(lambda one: one.search_speedup),
        speedup=mean(lambda one: one.speedup),
        speedup_low=mean(lambda one: one.speedup_low),
        speedup_high=mean(lambda one: one.speedup_high),
    )


def _mean(left: float, first: int, right: float, second: int) -> float:
    """The geometric mean over `first` cells with one value and `second` with another."""
    logs = first * math.log(left) + second * math.log(right)
    return math.exp(logs / max(1, first + second))


def _pooled(tried: Iterable[Tried]) -> list[Tried]:
    """Those for the same use, type, operator, binding and counts as one."""
    pooled: dict[tuple[str, ...], Tried] = {}
    for one in tried:
        key = (one.use, one.type, one.op, one.binding, one.counts)
        pool = pooled.get(key)
        if pool is None:
            pooled[key] = one
            continue
        pooled[key] = msgspec.structs.replace(
            one,
            cells=pool.cells + one.cells,
            speedup=_mean(pool.speedup, pool.cells, one.speedup, one.cells),
            speedup_low=_mean(pool.speedup_low, pool.cells, one.speedup_low, one.cells),
            worst_low=min(pool.worst_low, one.worst_low),
        )
    return list(pooled.values())


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


def outside(
    winners: Iterable[Winner],
    cells: Collection[Target],
    sizes: Sizes,
    candidate_space: CandidateSpace,
) -> list[Winner]:
    """What is left of winners where `cells` race again: nothing of an option of the library that
    holds for all sizes of a racing function."""
    racing = {cell.function for cell in cells}
    found: list[Winner] = []
    for winner in winners:
        function = winner.function
        if function not in racing:
            found.append(winner)
        elif winner.variant != "default" or not candidate_space.one_for_all_sizes(function):
            kept = {Target(function, size) for size in sizes[function]} - set(cells)
            found += inside(winner, kept, sizes[function])
    return found


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
