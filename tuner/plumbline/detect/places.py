"""Where the parts of a scatter, a gather or an exchange lie in the memory of the rank that has them
all: side by side in the order of ranks, with a hole where its own part is."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Literal

Layout = Literal["array", "regular", "order", "apart", "overlapping"]


def layout(
    blocks: Mapping[int, tuple[int, int]], ranks: Sequence[int], own: int, gaps: int = 0
) -> Layout:
    """`blocks`: (address, bytes) by the rank that each is for or from; `ranks`: of the whole group;
    `gaps`: 0, or bytes of an element of blocks with gaps, in which others may lie.

    array: equal blocks at equal distances, by ranks, with room for the own one.
    regular: the same at another stride (columns of a matrix).
    order: side by side, but of unequal sizes or in another order.
    apart: anywhere. overlapping: they were never there together."""
    placed = sorted((address, nbytes, rank) for rank, (address, nbytes) in blocks.items())
    sizes = {nbytes for _, nbytes, _ in placed}
    turned = any(_in_turn(placed, ranks, start) for start in range(len(ranks)))
    steps = {
        (right[0] - left[0], _apart(ranks, left[2], right[2]))
        for left, right in itertools.pairwise(placed)
    }
    if any(distance == 0 for distance, _ in steps):
        return "overlapping"
    if len(sizes) == 1 and turned:
        size = next(iter(sizes))
        strides = {distance / places for distance, places in steps if places}
        if strides == {size}:
            return "array"
        stride = next(iter(strides)) if len(strides) == 1 else 0
        enough = len(placed) > 2 and (gaps or stride > size)
        if stride and (enough or stride == gaps):
            return "regular"
    if not gaps and any(left[0] + left[1] > right[0] for left, right in itertools.pairwise(placed)):
        return "overlapping"
    if gaps:
        return "apart"
    return "order" if _side_by_side(placed, ranks, own) else "apart"


def _in_turn(placed: Sequence[tuple[int, int, int]], ranks: Sequence[int], start: int) -> bool:
    """Whether blocks lie in the order of ranks that begins with the one at `start`."""
    turn = {rank: (at - start) % len(ranks) for at, rank in enumerate(ranks)}
    order = [turn[rank] for _, _, rank in placed]
    return order == sorted(order)


def _apart(ranks: Sequence[int], left: int, right: int) -> int:
    return (list(ranks).index(right) - list(ranks).index(left)) % len(ranks)


def _side_by_side(placed: Sequence[tuple[int, int, int]], ranks: Sequence[int], own: int) -> bool:
    """Without gaps but one, which lies where the own block would, and is not much larger."""
    largest = max(nbytes for _, nbytes, _ in placed)
    gaps = [
        (right[0] - left[0] - left[1], left[2], right[2])
        for left, right in itertools.pairwise(placed)
        if left[0] + left[1] != right[0]
    ]
    if not gaps:
        return True
    position = {rank: at for at, rank in enumerate(ranks)}
    gap, left, right = gaps[0]
    between = position[left] < position[own] < position[right]
    ordered = [position[rank] for _, _, rank in placed]
    return len(gaps) == 1 and between and gap <= 2 * largest and ordered == sorted(ordered)
