"""Allgathers and exchanges of all with all, as people write them."""

from __future__ import annotations

import numpy as np

from tests.bench.detection import broadcasts
from tests.bench.detection.rooted import blocks, irregular_blocks
from tests.bench.detection.spmd import Rank, Waits


def allgather_linear(me: Rank, count: int, tag: int = 41) -> Waits:
    whole = blocks(me.data(count * me.size), me.size)
    for other in me.others():
        me.send(whole[me.rank], other, tag)
    for other in me.others():
        yield from me.recv(whole[other], other, tag)


def allgather_ring(me: Rank, count: int, tag: int = 42) -> Waits:
    whole = blocks(me.data(count * me.size), me.size)
    for step in range(me.size - 1):
        mine, other = whole[(me.rank - step) % me.size], whole[(me.rank - step - 1) % me.size]
        yield from me.sendrecv(mine, me.right, other, me.left, tag)


def allgather_in_turn(me: Rank, count: int, tag: int = 43) -> Waits:
    """Pairs in the order of ranks, the lower one first."""
    whole = blocks(me.data(count * me.size), me.size)
    for other in range(me.size):
        if me.rank < other:
            me.send(whole[me.rank], other, tag)
            yield from me.recv(whole[other], other, tag)
        elif other < me.rank:
            yield from me.recv(whole[other], other, tag)
            me.send(whole[me.rank], other, tag)


def allgather_doubling(me: Rank, count: int, tag: int = 44) -> Waits:
    """Powers of two alone."""
    whole, mask = me.data(count * me.size), 1
    while mask < me.size:
        other = me.rank ^ mask
        mine, its = me.rank // mask * mask, other // mask * mask
        me.send(whole[count * mine : count * (mine + mask)], other, tag)
        yield from me.recv(whole[count * its : count * (its + mask)], other, tag)
        mask <<= 1


def allgather_bruck(me: Rank, count: int, tag: int = 45) -> Waits:
    whole, have = me.data(count * me.size), 1
    while have < me.size:
        more = min(have, me.size - have)
        me.send(whole[: count * more], (me.rank - have) % me.size, tag)
        part = whole[count * have : count * (have + more)]
        yield from me.recv(part, (me.rank + have) % me.size, tag)
        have += more


def allgather_bruck_copied(me: Rank, count: int, tag: int = 48) -> Waits:
    """What is sent is copied behind each other first, and what came is copied away; all in one
    place."""
    have = [me.data(count).copy()]
    places = me.alloc(count * me.size), me.alloc(count * me.size)
    while len(have) < me.size:
        distance, more = len(have), min(len(have), me.size - len(have))
        packed, got = (place[: count * more] for place in places)
        packed[...] = np.concatenate(have[:more])
        me.send(packed, (me.rank - distance) % me.size, tag)
        yield from me.recv(got, (me.rank + distance) % me.size, tag)
        have += [block.copy() for block in blocks(got, more)]


def allgather_doubling_copied(me: Rank, count: int, tag: int = 49) -> Waits:
    """Powers of two alone; blocks are packed by ranks."""
    have, mask = {me.rank: me.data(count).copy()}, 1
    while mask < me.size:
        other = me.rank ^ mask
        packed, got = me.alloc(count * mask), me.alloc(count * mask)
        packed[...] = np.concatenate([have[rank] for rank in sorted(have)])
        me.send(packed, other, tag)
        yield from me.recv(got, other, tag)
        its = range(other // mask * mask, other // mask * mask + mask)
        have |= dict(zip(its, (block.copy() for block in blocks(got, mask)), strict=True))
        mask <<= 1


def allgather_by_root(me: Rank, count: int, tag: int = 46) -> Waits:
    """A gather, then a broadcast of all of it."""
    whole = me.data(count * me.size)
    if me.rank == 0:
        for other in range(1, me.size):
            yield from me.recv(blocks(whole, me.size)[other], other, tag)
    else:
        me.send(blocks(whole, me.size)[me.rank], 0, tag)
    yield from broadcasts.binomial(me, whole, 0, tag + 100)


def allgather_irregular(me: Rank, count: int, tag: int = 47) -> Waits:
    parts = irregular_blocks(me, count)
    for step in range(me.size - 1):
        me.send(parts[(me.rank - step) % me.size], me.right, tag)
        yield from me.recv(parts[(me.rank - step - 1) % me.size], me.left, tag)


def alltoall_linear(me: Rank, count: int, tag: int = 51) -> Waits:
    mine, got = (blocks(me.data(count * me.size), me.size) for _ in range(2))
    for other in me.others():
        me.send(mine[other], other, tag)
    for other in me.others():
        yield from me.recv(got[other], other, tag)


def alltoall_pairwise(me: Rank, count: int, tag: int = 52) -> Waits:
    mine, got = (blocks(me.data(count * me.size), me.size) for _ in range(2))
    for step in range(1, me.size):
        to, source = (me.rank + step) % me.size, (me.rank - step) % me.size
        yield from me.sendrecv(mine[to], to, got[source], source, tag)


def alltoall_wildcard(me: Rank, count: int, tag: int = 53) -> Waits:
    tag = me.turn(tag)
    mine, got = (blocks(me.data(count * me.size), me.size) for _ in range(2))
    for other in me.others():
        me.send(mine[other], other, tag)
    for _ in range(me.size - 1):
        yield from me.recv_any(lambda other: got[other], tag)


def alltoall_packed(me: Rank, count: int, tag: int = 54) -> Waits:
    """What is sent is packed into one buffer, block after block."""
    got, packed = blocks(me.data(count * me.size), me.size), me.alloc(count)
    for other in me.others():
        me.fill(packed)
        me.send(packed, other, tag)
    for other in me.others():
        yield from me.recv(got[other], other, tag)


def alltoall_in_scratch(me: Rank, count: int, tag: int = 58) -> Waits:
    """Each block is packed where the one before was, and taken out of where it comes (PRK's
    transpose)."""
    packed, got = me.alloc(count), me.alloc(count)
    for step in range(1, me.size):
        me.fill(packed)
        me.send(packed, (me.rank - step) % me.size, tag + step)
        yield from me.recv(got, (me.rank + step) % me.size, tag + step)


def alltoall_irregular(me: Rank, count: int, tag: int = 55) -> Waits:
    """From rank i to rank j go count + i + 2 j elements."""
    starts = np.cumsum([0] + [count + me.rank + 2 * other for other in range(me.size)])
    coming = np.cumsum([0] + [count + other + 2 * me.rank for other in range(me.size)])
    mine, got = me.data(int(starts[-1])), me.alloc(int(coming[-1]))
    for step in range(1, me.size):
        to, source = (me.rank + step) % me.size, (me.rank - step) % me.size
        me.send(mine[starts[to] : starts[to + 1]], to, tag)
        yield from me.recv(got[coming[source] : coming[source + 1]], source, tag)


def alltoall_bruck_down(me: Rank, count: int, tag: int = 57) -> Waits:
    return alltoall_bruck(me, count, tag, -1)


def alltoall_bruck(me: Rank, count: int, tag: int = 56, way: int = 1) -> Waits:
    """Blocks turned, packed, and sent on by the bits of their distance."""
    own = me.data(count * me.size)
    blocks_now = np.roll(own.reshape(me.size, count), -me.rank, axis=0)
    mask = 1
    while mask < me.size:
        moving = [at for at in range(me.size) if at & mask]
        packed, got = (me.alloc(count * len(moving)) for _ in range(2))
        packed[...] = blocks_now[moving].reshape(-1)
        me.send(packed, (me.rank + way * mask) % me.size, tag)
        yield from me.recv(got, (me.rank - way * mask) % me.size, tag)
        blocks_now[moving] = got.reshape(len(moving), count)
        mask <<= 1


ALLGATHERS = (
    allgather_linear,
    allgather_ring,
    allgather_in_turn,
    allgather_doubling,
    allgather_bruck,
    allgather_by_root,
    allgather_irregular,
)
COPIED = (allgather_bruck_copied, allgather_doubling_copied)
BRUCK = (alltoall_bruck, alltoall_bruck_down)
IN_TURN = (alltoall_in_scratch,)
ALLTOALLS = (
    alltoall_linear,
    alltoall_pairwise,
    alltoall_wildcard,
    alltoall_packed,
    alltoall_irregular,
)
