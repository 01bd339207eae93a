"""Whose contribution is known where, message by message, and when it is everybody's: what
reductions and barriers are made of. Followed in tuner/detection/phases.c."""

from __future__ import annotations

import enum

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Mask, Rows
from plumbline.detect.traffic import Traffic


class Way(enum.IntEnum):
    """The way of a good phase. TREE: each rank but the root sends once, when it has what it waits
    for, and it is not the one side of exchanges. Else a phase ends for a rank when it knows of all
    others, and everybody does in the end; WHOLE: with a message a rank at least, and ranks that
    know of the same contributions send the same; HALVING: with ever smaller parts."""

    TREE = 0
    WHOLE = 1
    HALVING = 2
    BARRIER = 3


class Phases(msgspec.Struct, frozen=True, eq=False):
    """Times that it went round. `messages` in the order in which they came; `known`: of each of
    them who had contributed to it when it was sent, as the number of a set; `overlaps`: somebody
    was told of one contribution twice; `last`: the place in the group of the last rank that knows
    everybody's."""

    messages: Rows
    known: Indices
    overlaps: Mask
    last: Indices
    set_sizes: Indices
    set_bits: Indices

    def __len__(self) -> int:
        return len(self.messages)


class MessageClass(msgspec.Struct, frozen=True, eq=False):
    """Messages of a group that have something in common (size and call site, or tag), and may go
    round in phases."""

    traffic: Traffic
    comm: int
    group: tuple[int, ...]
    messages: Indices

    @property
    def says_one_thing(self) -> bool:
        content = self.traffic.content[self.messages]
        return bool((content == content[0]).all())

    def good(self, way: Way) -> Phases | None:
        """The good phases; None: they are too little of it, or of what it begins with.

        Linear in messages, times the group's size in machine words."""
        traffic, messages, ranks = self.traffic, self.messages, np.array(self.group, np.int64)
        places = np.concatenate([traffic.sent[messages], traffic.received[messages]])
        arguments = (messages, np.argsort(places), len(messages), ranks, len(ranks), int(way))
        columns = core.call("pl_phases", traffic.passed, *arguments)
        if not columns:
            return None
        first, messages_at, known_sets, overlaps, last, set_sizes, set_bits = columns
        return Phases(
            Rows(first, messages_at), known_sets, overlaps != 0, last, set_sizes, set_bits
        )

    def distinct(self, values: Indices, good: Phases) -> Indices:
        """Return by phase: how many different ones there are among the values of its messages."""
        order = np.lexsort((values, good.messages.owners))
        new = np.ones(len(values), np.int64)
        new[1:] = values[order[1:]] != values[order[:-1]]
        new[good.messages.first[:-1]] = 1
        return np.add.reduceat(new, good.messages.first[:-1])
