"""Barriers as people write them."""

from __future__ import annotations

import numpy as np

from tests.bench.detection.spmd import Array, Rank, Waits

Signal = Array | None


def linear(me: Rank, signal: Signal, tag: int = 91) -> Waits:
    if me.rank:
        me.send(signal, 0, tag)
        yield from me.recv(signal, 0, tag)
        return
    for other in range(1, me.size):
        yield from me.recv(signal, other, tag)
    for other in range(1, me.size):
        me.send(signal, other, tag)


def wildcard(me: Rank, signal: Signal, tag: int = 92) -> Waits:
    tag = me.turn(tag)
    if me.rank:
        me.send(signal, 0, tag)
        yield from me.recv(signal, 0, tag + 100)
        return
    for _ in range(1, me.size):
        yield from me.recv_any(signal, tag)
    for other in range(1, me.size):
        me.send(signal, other, tag + 100)


def dissemination(me: Rank, signal: Signal, tag: int = 93) -> Waits:
    mask = 1
    while mask < me.size:
        to, source = (me.rank + mask) % me.size, (me.rank - mask) % me.size
        yield from me.sendrecv(signal, to, signal, source, tag)
        mask <<= 1


def tree(me: Rank, signal: Signal, tag: int = 94) -> Waits:
    children = [child for child in (2 * me.rank + 1, 2 * me.rank + 2) if child < me.size]
    for child in children:
        yield from me.recv(signal, child, tag)
    if me.rank:
        me.send(signal, (me.rank - 1) // 2, tag)
        yield from me.recv(signal, (me.rank - 1) // 2, tag)
    for child in children:
        me.send(signal, child, tag)


def twice_around(me: Rank, signal: Signal, tag: int = 95) -> Waits:
    if me.rank == 0:
        me.send(signal, me.right, tag)
        yield from me.recv(signal, me.left, tag)
        me.send(signal, me.right, tag)
        yield from me.recv(signal, me.left, tag)
        return
    yield from me.recv(signal, me.left, tag)
    me.send(signal, me.right, tag)
    yield from me.recv(signal, me.left, tag)
    me.send(signal, me.right, tag)


def doubling(me: Rank, signal: Signal, tag: int = 96) -> Waits:
    """Powers of two alone."""
    mask = 1
    while mask < me.size:
        yield from me.sendrecv(signal, me.rank ^ mask, signal, me.rank ^ mask, tag + mask)
        mask <<= 1


def token(me: Rank) -> Array:
    """An integer that always is 1."""
    array = me.alloc(1, np.int32)
    array[0] = 1
    return array


ALL = (linear, wildcard, dissemination, tree, twice_around)
