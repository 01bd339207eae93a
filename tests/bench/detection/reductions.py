"""Reductions as people write them. `combine` is the operator, `data` what a rank gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.bench.detection import broadcasts, rooted
from tests.bench.detection.spmd import Array, Rank, Waits

Combine = Callable[[Array, Array], Array]


def reduce_linear(me: Rank, data: Array, combine: Combine, root: int, tag: int = 61) -> Waits:
    """The root adds up what it gets in one place."""
    if me.rank == root:
        total, got = me.copy(data), me.alloc(data.size, data.dtype)
        for other in me.others():
            yield from me.recv(got, other, tag)
            total[...] = combine(total, got)
        return total
    me.send(data, root, tag)
    return None


def reduce_wildcard(me: Rank, data: Array, combine: Combine, root: int, tag: int = 62) -> Waits:
    tag = me.turn(tag)  # else ranks that are ahead come into the wrong sum
    if me.rank == root:
        total, got = me.copy(data), me.alloc(data.size, data.dtype)
        for _ in range(me.size - 1):
            yield from me.recv_any(got, tag)
            total[...] = combine(total, got)
        return total
    me.send(data, root, tag)
    return None


def reduce_binomial(me: Rank, data: Array, combine: Combine, root: int, tag: int = 63) -> Waits:
    place, mask = (me.rank - root) % me.size, 1
    total, got = me.copy(data), me.alloc(data.size, data.dtype)
    while mask < me.size:
        if place & mask:
            me.send(total, (place - mask + root) % me.size, tag)
            return None
        if place + mask < me.size:
            yield from me.recv(got, (place + mask + root) % me.size, tag)
            total[...] = combine(total, got)
        mask <<= 1
    return total


def reduce_binary(me: Rank, data: Array, combine: Combine, root: int, tag: int = 64) -> Waits:
    place = (me.rank - root) % me.size
    total, got = me.copy(data), me.alloc(data.size, data.dtype)
    for child in (2 * place + 1, 2 * place + 2):
        if child < me.size:
            yield from me.recv(got, (child + root) % me.size, tag)
            total[...] = combine(total, got)
    if place:
        me.send(total, ((place - 1) // 2 + root) % me.size, tag)
        return None
    return total


def reduce_chain(me: Rank, data: Array, combine: Combine, root: int, tag: int = 65) -> Waits:
    place = (me.rank - root) % me.size
    total, got = me.copy(data), me.alloc(data.size, data.dtype)
    if place < me.size - 1:
        yield from me.recv(got, me.right, tag)
        total[...] = combine(total, got)
    if place:
        me.send(total, me.left, tag)
        return None
    return total


def _then_broadcast(
    reduce: Callable[..., Waits], spread: Callable[..., Waits]
) -> Callable[..., Waits]:
    def allreduce(me: Rank, data: Array, combine: Combine, root: int = 0) -> Waits:
        total = yield from reduce(me, data, combine, root)
        if total is None:
            total = me.alloc(data.size, data.dtype)
        yield from spread(me, total, root)
        return total

    allreduce.__name__ = f"allreduce_{reduce.__name__}_{spread.__name__}"
    return allreduce


def allreduce_doubling(
    me: Rank, data: Array, combine: Combine, root: int = 0, tag: int = 71
) -> Waits:
    """Recursive doubling; of other numbers of ranks the odd ones of the first stand aside."""
    half = 1 << (me.size.bit_length() - 1)
    extra = me.size - half
    total, got = me.copy(data), me.alloc(data.size, data.dtype)
    if me.rank < 2 * extra and me.rank % 2:
        me.send(total, me.rank - 1, tag)
        yield from me.recv(total, me.rank - 1, tag)
        return total
    if me.rank < 2 * extra:
        yield from me.recv(got, me.rank + 1, tag)
        total[...] = combine(total, got)
    place = me.rank // 2 if me.rank < 2 * extra else me.rank - extra
    mask = 1
    while mask < half:
        other = place ^ mask
        other = 2 * other if other < extra else other + extra
        yield from me.sendrecv(total, other, got, other, tag)
        total[...] = combine(total, got)
        mask <<= 1
    if me.rank < 2 * extra:
        me.send(total, me.rank + 1, tag)
    return total


def reduce_scatter_halving(me: Rank, data: Array, combine: Combine, tag: int = 73) -> Waits:
    """Powers of two alone. Gives the own block of the sum, in its place."""
    total, got = me.copy(data), me.alloc(data.size, data.dtype)
    low, high, mask = 0, me.size, me.size // 2
    count = data.size // me.size
    while mask:
        middle, other = (low + high) // 2, me.rank ^ mask
        kept, given = ((low, middle), (middle, high))
        if me.rank >= middle:
            kept, given = given, kept
        part = got[: count * (kept[1] - kept[0])]
        me.send(total[count * given[0] : count * given[1]], other, tag)
        yield from me.recv(part, other, tag)
        own = total[count * kept[0] : count * kept[1]]
        own[...] = combine(own, part)
        low, high = kept
        mask //= 2
    return total


def allreduce_rabenseifner(
    me: Rank, data: Array, combine: Combine, root: int = 0, tag: int = 75
) -> Waits:
    total = yield from reduce_scatter_halving(me, data, combine, tag)
    count, mask = data.size // me.size, 1
    while mask < me.size:
        other = me.rank ^ mask
        mine, its = me.rank // mask * mask, other // mask * mask
        me.send(total[count * mine : count * (mine + mask)], other, tag + 100)
        yield from me.recv(total[count * its : count * (its + mask)], other, tag + 100)
        mask <<= 1
    return total


def allreduce_ring(me: Rank, data: Array, combine: Combine, root: int = 0, tag: int = 77) -> Waits:
    total = me.copy(data)
    parts = np.split(total, me.size)
    got = me.alloc(parts[0].size, data.dtype)
    for step in range(me.size - 1):
        yield from me.sendrecv(parts[(me.rank - step) % me.size], me.right, got, me.left, tag)
        own = parts[(me.rank - step - 1) % me.size]
        own[...] = combine(own, got)
    for step in range(me.size - 1):
        mine, other = parts[(me.rank + 1 - step) % me.size], parts[(me.rank - step) % me.size]
        yield from me.sendrecv(mine, me.right, other, me.left, tag + 100)
    return total


def reduce_scatter_pairwise(me: Rank, data: Array, combine: Combine, tag: int = 79) -> Waits:
    """Everybody gets everybody's term of his block, and adds it at once."""
    parts = rooted.blocks(data, me.size)
    total, got = me.copy(parts[me.rank]), me.alloc(parts[0].size, data.dtype)
    for step in range(1, me.size):
        to, source = (me.rank + step) % me.size, (me.rank - step) % me.size
        yield from me.sendrecv(parts[to], to, got, source, tag)
        total[...] = combine(total, got)
    return total


def scan_chain(me: Rank, data: Array, combine: Combine, tag: int = 81) -> Waits:
    total, got = me.copy(data), me.alloc(data.size, data.dtype)
    if me.rank:
        yield from me.recv(got, me.rank - 1, tag)
        total[...] = combine(got, total)
    if me.rank < me.size - 1:
        me.send(total, me.rank + 1, tag)
    return total


REDUCES = (reduce_linear, reduce_wildcard, reduce_binomial, reduce_binary, reduce_chain)
ALLREDUCES = (
    _then_broadcast(reduce_linear, broadcasts.linear),
    _then_broadcast(reduce_binomial, broadcasts.binomial),
    _then_broadcast(reduce_binary, broadcasts.binary),
    _then_broadcast(reduce_chain, broadcasts.chain),
    allreduce_doubling,
)
