"""Broadcasts as people write them. Each sends `data` of the root to all of the communicator."""

from __future__ import annotations

import numpy as np

from tests.bench.detection.spmd import Array, Rank, Waits


def linear(me: Rank, data: Array, root: int, tag: int = 1) -> Waits:
    if me.rank == root:
        for other in me.others():
            me.send(data, other, tag)
    else:
        yield from me.recv(data, root, tag)


def ring_but_next(me: Rank, data: Array, root: int, tag: int = 20) -> Waits:
    """The next root gets it first, and hands nothing on: it can begin before the others have it
    (HPL)."""
    own = (me.rank - root) % me.size
    if own == 0:
        me.send(data, (root + 1) % me.size, tag)
        me.compute(3000)
        if me.size > 2:
            me.send(data, (root + 2) % me.size, tag)
    else:
        yield from me.recv(data, (me.rank - 1 - (own == 2)) % me.size, tag)
        if 2 <= own < me.size - 1:
            me.send(data, me.right, tag)


def chain(me: Rank, data: Array, root: int, tag: int = 2) -> Waits:
    place = (me.rank - root) % me.size
    if place:
        yield from me.recv(data, me.left, tag)
    if place < me.size - 1:
        me.send(data, me.right, tag)


def two_chains(me: Rank, data: Array, root: int, tag: int = 3) -> Waits:
    """HPL's 2ring."""
    place, half = (me.rank - root) % me.size, me.size // 2
    if place == 0:
        me.send(data, (root + 1) % me.size, tag)
        if half + 1 < me.size:
            me.send(data, (root + half + 1) % me.size, tag)
        return
    before = 0 if place == half + 1 else place - 1
    yield from me.recv(data, (root + before) % me.size, tag)
    if place != half and place != me.size - 1:
        me.send(data, me.right, tag)


def modified_chain(me: Rank, data: Array, root: int, tag: int = 4) -> Waits:
    """HPL's 1rinM: the second rank has nothing to do but to receive."""
    place = (me.rank - root) % me.size
    if place == 0:
        me.send(data, (root + 1) % me.size, tag)
        if me.size > 2:
            me.send(data, (root + 2) % me.size, tag)
        return
    before = 0 if place <= 2 else place - 1
    yield from me.recv(data, (root + before) % me.size, tag)
    if 2 <= place < me.size - 1:
        me.send(data, me.right, tag)


def binary(me: Rank, data: Array, root: int, tag: int = 5) -> Waits:
    place = (me.rank - root) % me.size
    if place:
        yield from me.recv(data, ((place - 1) // 2 + root) % me.size, tag)
    for child in (2 * place + 1, 2 * place + 2):
        if child < me.size:
            me.send(data, (child + root) % me.size, tag)


def binomial(me: Rank, data: Array, root: int, tag: int = 6) -> Waits:
    place, mask = (me.rank - root) % me.size, 1
    while mask < me.size:
        if place & mask:
            yield from me.recv(data, (place - mask + root) % me.size, tag)
            break
        mask <<= 1
    mask >>= 1
    while mask:
        if place + mask < me.size:
            me.send(data, (place + mask + root) % me.size, tag)
        mask >>= 1


def pipelined(me: Rank, data: Array, root: int, tag: int = 7) -> Waits:
    place = (me.rank - root) % me.size
    for segment in np.array_split(data, 4):
        if place:
            yield from me.recv(segment, me.left, tag)
        if place < me.size - 1:
            me.send(segment, me.right, tag)


def pipelined_tree(me: Rank, data: Array, root: int, tag: int = 8) -> Waits:
    for segment in np.array_split(data, 3):
        yield from binary(me, segment, root, tag)


def scatter_allgather(me: Rank, data: Array, root: int, tag: int = 9) -> Waits:
    """Linear scatter, then a ring of the pieces (van de Geijn)."""
    pieces = np.array_split(data, me.size)
    place = (me.rank - root) % me.size
    if place == 0:
        for other in range(1, me.size):
            me.send(pieces[other], (other + root) % me.size, tag)
    else:
        yield from me.recv(pieces[place], root, tag)
    for step in range(me.size - 1):
        mine, other = pieces[(place - step) % me.size], pieces[(place - step - 1) % me.size]
        yield from me.sendrecv(mine, me.right, other, me.left, tag + 100)


def halving_allgather(me: Rank, data: Array, root: int, tag: int = 10) -> Waits:
    """Pieces spread by halving, then rolled on a ring: HPL's blong, MPICH's long broadcast."""
    bounds = [len(data) * at // me.size for at in range(me.size + 1)]
    place, low, high = (me.rank - root) % me.size, 0, me.size
    while high - low > 1:
        middle = (low + high + 1) // 2
        if place == low:
            me.send(data[bounds[middle] : bounds[high]], (middle + root) % me.size, tag)
        elif place == middle:
            yield from me.recv(data[bounds[middle] : bounds[high]], (low + root) % me.size, tag)
        low, high = (low, middle) if place < middle else (middle, high)
    for step in range(me.size - 1):
        mine, other = (place - step) % me.size, (place - step - 1) % me.size
        me.send(data[bounds[mine] : bounds[mine + 1]], me.right, tag + 100)
        yield from me.recv(data[bounds[other] : bounds[other + 1]], me.left, tag + 100)


ALL = (
    linear,
    chain,
    two_chains,
    modified_chain,
    binary,
    binomial,
    pipelined,
    pipelined_tree,
    scatter_allgather,
    halving_allgather,
)
