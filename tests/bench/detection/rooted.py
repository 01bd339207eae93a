"""Gathers and scatters as people write them. `whole` is the root's array of all blocks."""

from __future__ import annotations

import numpy as np

from tests.bench.detection.spmd import Array, Rank, Waits


def blocks(array: Array, size: int) -> list[Array]:
    return np.split(array, size)


def irregular_blocks(me: Rank, count: int) -> list[Array]:
    """Rank r has count + r elements."""
    starts = np.cumsum([count + rank for rank in range(me.size)])
    return np.split(me.data(int(starts[-1])), starts[:-1])


def gather_linear(me: Rank, count: int, root: int, tag: int = 21) -> Waits:
    """Into one array; the own block is copied."""
    if me.rank == root:
        whole = blocks(me.data(count * me.size), me.size)
        for other in me.others():
            yield from me.recv(whole[other], other, tag)
    else:
        me.send(me.data(count), root, tag)


def gather_wildcard(me: Rank, count: int, root: int, tag: int = 22) -> Waits:
    tag = me.turn(tag)
    if me.rank == root:
        whole = blocks(me.data(count * me.size), me.size)
        for _ in range(me.size - 1):
            yield from me.recv_any(lambda other: whole[other], tag)
    else:
        me.send(me.data(count), root, tag)


def gather_without_own(me: Rank, count: int, root: int, tag: int = 23) -> Waits:
    """The root keeps its block elsewhere."""
    if me.rank == root:
        whole = blocks(me.data(count * (me.size - 1)), me.size - 1)
        for other, block in zip(me.others(), whole, strict=True):
            yield from me.recv(block, other, tag)
    else:
        me.send(me.data(count), root, tag)


def gather_binomial(me: Rank, count: int, root: int, tag: int = 24) -> Waits:
    place = (me.rank - root) % me.size
    whole = me.data(count * me.size)
    mask, have = 1, 1
    while mask < me.size:
        if place & mask:
            me.send(whole[: count * have], (place - mask + root) % me.size, tag)
            return
        if place + mask < me.size:
            more = min(mask, me.size - place - mask)
            part = whole[count * mask : count * (mask + more)]
            yield from me.recv(part, (place + mask + root) % me.size, tag)
            have = mask + more
        mask <<= 1


def gather_columns(me: Rank, count: int, root: int, tag: int = 25) -> Waits:
    """Each rank's block is a column of the root's matrix (a derived type)."""
    if me.rank == root:
        whole = me.data(count * me.size).reshape(count, me.size)
        for other in me.others():
            yield from me.recv(whole[:, other], other, tag)
    else:
        me.send(me.data(count), root, tag)


def gather_irregular(me: Rank, count: int, root: int, tag: int = 26) -> Waits:
    if me.rank == root:
        whole = irregular_blocks(me, count)
        for other in me.others():
            yield from me.recv(whole[other], other, tag)
    else:
        me.send(me.data(count + me.rank), root, tag)


def gather_chain(me: Rank, count: int, root: int, tag: int = 27) -> Waits:
    """Each rank puts its block in front of what it got."""
    place = (me.rank - root) % me.size
    whole = me.data(count * me.size)
    if place < me.size - 1:
        part = whole[count : count * (me.size - place)]
        yield from me.recv(part, me.right, tag)
    if place:
        me.send(whole[: count * (me.size - place)], me.left, tag)


def scatter_linear(me: Rank, count: int, root: int, tag: int = 31) -> Waits:
    if me.rank == root:
        for other, block in enumerate(blocks(me.data(count * me.size), me.size)):
            if other != root:
                me.send(block, other, tag)
    else:
        yield from me.recv(me.alloc(count), root, tag)


def scatter_without_own(me: Rank, count: int, root: int, tag: int = 32) -> Waits:
    if me.rank == root:
        whole = blocks(me.data(count * (me.size - 1)), me.size - 1)
        for other, block in zip(me.others(), whole, strict=True):
            me.send(block, other, tag)
    else:
        yield from me.recv(me.alloc(count), root, tag)


def scatter_binomial(me: Rank, count: int, root: int, tag: int = 33) -> Waits:
    """Of blocks in the order of ranks behind the root."""
    place, low, high = (me.rank - root) % me.size, 0, me.size
    whole = me.data(count * me.size)
    while high - low > 1:
        middle = (low + high + 1) // 2
        part = whole[count * middle : count * high]
        if place == low:
            me.send(part, (middle + root) % me.size, tag)
        elif place == middle:
            yield from me.recv(part, (low + root) % me.size, tag)
        low, high = (low, middle) if place < middle else (middle, high)


def scatter_columns(me: Rank, count: int, root: int, tag: int = 34) -> Waits:
    if me.rank == root:
        whole = me.data(count * me.size).reshape(count, me.size)
        for other in me.others():
            me.send(whole[:, other], other, tag)
    else:
        yield from me.recv(me.alloc(count), root, tag)


def scatter_irregular(me: Rank, count: int, root: int, tag: int = 35) -> Waits:
    if me.rank == root:
        whole = irregular_blocks(me, count)
        for other in me.others():
            me.send(whole[other], other, tag)
    else:
        yield from me.recv(me.alloc(count + me.rank), root, tag)


def scatter_segments(me: Rank, count: int, root: int, tag: int = 36) -> Waits:
    """Each block in two messages."""
    if me.rank == root:
        for other, block in enumerate(blocks(me.data(count * me.size), me.size)):
            if other != root:
                for half in np.array_split(block, 2):
                    me.send(half, other, tag)
    else:
        for half in np.array_split(me.alloc(count), 2):
            yield from me.recv(half, root, tag)


GATHERS = (
    gather_linear,
    gather_wildcard,
    gather_without_own,
    gather_binomial,
    gather_columns,
    gather_irregular,
    gather_chain,
)
SCATTERS = (
    scatter_linear,
    scatter_without_own,
    scatter_binomial,
    scatter_columns,
    scatter_irregular,
    scatter_segments,
)
