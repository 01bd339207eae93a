"""Exchanges of all with all by Bruck's algorithm: blocks go to the rank 1, 2, 4 … further, by the
bits of their distance, many in one message. One block of each message goes nowhere else, so hashes
prove nothing. What is known are partners and sizes, that each message waits for the one before, and
of short messages which blocks were handed on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from plumbline.detect.classes import WAYS, Search, in_classes
from plumbline.detect.columns import Indices
from plumbline.detect.instances import Instance, in_order
from plumbline.detect.recording import PAYLOAD
from plumbline.detect.traffic import Traffic

_UNPROVED = "by partners and sizes: contents of more than 64 bytes cannot prove it"

Turns = Indices  # shape (ranks, times, steps): messages, by who sends them


def alltoalls(traffic: Traffic, messages: Indices) -> list[Instance]:
    some = messages[traffic.bytes[messages] > 0]
    return in_classes(traffic, some, WAYS[:2], Search.BRUCK, partial(_of_group, traffic))


def _of_group(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Indices
) -> Iterator[Instance]:
    turns = _turns(traffic, group, messages)
    if turns is None:
        return
    proved = _is_handed_on(traffic, turns)
    if proved is False:
        return
    block = traffic.bytes[turns[0, :, 0]] // _blocks(len(group))[0]
    for time in range(turns.shape[1]):
        yield Instance(
            "alltoall",
            comm,
            group,
            in_order(turns[:, time].ravel().tolist()),
            int(block[time]),
            evidence="proved" if proved else "assumed",
            remarks=() if proved else (_UNPROVED,),
        )


def _blocks(size: int) -> Indices:
    """Return by step: how many blocks go on."""
    distances = np.arange(size)
    return np.array([(distances >> step & 1).sum() for step in range((size - 1).bit_length())])


def _turns(traffic: Traffic, group: tuple[int, ...], messages: Indices) -> Turns | None:
    """None: these are not the messages of Bruck's algorithm. A rank's are turned so that the
    sender of what rank i waits for in a step is i - 2 ** step."""
    size = len(group)
    blocks = _blocks(size)
    place = np.zeros(traffic.nprocs, np.int64)
    place[list(group)] = np.arange(size)
    sources = place[traffic.source[messages]]
    order = np.argsort(sources, kind="stable")
    turns: Turns = messages[order].reshape(size, -1, len(blocks))
    distance = (place[traffic.target[turns]] - place[traffic.source[turns]]) % size
    hops = 1 << np.arange(len(blocks))
    if (distance == size - hops).all():  # downwards
        turns = turns[::-1]
    nbytes, content = traffic.bytes[turns], np.sort(traffic.content[turns], axis=None)
    fits = (nbytes * blocks[0] == nbytes[:1, :, :1] * blocks).all()
    fits &= (nbytes[0, :, 0] % blocks[0] == 0).all() and (content[1:] != content[:-1]).all()
    for step, hop in enumerate(hops[:-1].tolist()):
        came = traffic.received[np.roll(turns[:, :, step], hop, axis=0)]
        fits &= (came < traffic.sent[turns[:, :, step + 1]]).all()
    return turns if fits else None


def _is_handed_on(traffic: Traffic, turns: Turns) -> bool | None:
    """Return whether blocks are handed on that came in the steps before; None: contents are not
    known."""
    size, _, steps = turns.shape
    nbytes = traffic.bytes[turns]
    if nbytes.max() > PAYLOAD:
        return None
    moving = [[at for at in range(size) if at >> step & 1] for step in range(steps)]
    for time, block in enumerate((nbytes[0, :, 0] // len(moving[0])).tolist()):
        of_block = traffic.payload(turns[:, time])[:, :, : block * (PAYLOAD // block)]
        blocks = of_block.reshape(size, steps, -1, block)
        for step in range(1, steps):
            for at in moving[step]:
                before = [earlier for earlier in range(step) if at >> earlier & 1]
                if before:
                    came = np.roll(blocks[:, before[-1]], 1 << before[-1], axis=0)
                    came = came[:, moving[before[-1]].index(at)]
                    if (came != blocks[:, step, moving[step].index(at)]).any():
                        return False
    return True
