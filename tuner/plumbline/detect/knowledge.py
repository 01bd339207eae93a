"""Whose contribution is known where, message by message, and when it is everybody's: what
reductions and barriers are made of. Followed in tuner/detection/phases.c."""

from __future__ import annotations

import enum
from functools import partial

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.core import Indices, Mask, Rows
from plumbline.detect.traffic import ClassSearch, Instance, Shared, Traffic, in_classes

# A message of so few bytes, with the same content each time, is a signal.
SIGNAL = 8

_EXPLAINED = 0.5
# While a barrier lasts, at most so many times as many other messages may be sent.
_BESIDE = 4


def barriers(traffic: Traffic, messages: Indices) -> list[Instance]:
    """Barriers among messages of one size that always say the same: on a communicator as a whole,
    from a call site, with a tag."""
    small = messages[traffic.bytes[messages] <= SIGNAL]
    ways = (Shared.BYTES | Shared.TAG, Shared.BYTES | Shared.SITE, Shared.BYTES)
    return in_classes(traffic, small, ways, ClassSearch.BARRIERS, partial(_of_group, traffic))


def _of_group(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Indices
) -> list[Instance]:
    every = MessageClass(traffic, comm, group, messages).good(Way.BARRIER)
    if every is None:
        return []
    rows = every.messages
    good = rows.picked(
        np.flatnonzero(
            _once(traffic, rows, len(group)) & _at_once(traffic, rows) & _undisturbed(traffic, rows)
        )
    )
    if len(good.at) < _EXPLAINED * len(messages):
        return []
    return [Instance("barrier", comm, group, listed, 0) for listed in good.tuples()]


def _once(traffic: Traffic, every: Rows, size: int) -> Mask:
    """Return whether no rank tells another one twice, but in a ring that goes round twice from two
    call sites: else neighbours tell each other, and news only gets about in time."""
    messages, phase = every.at, every.owners
    pairs = traffic.pairs(messages)
    with_site = traffic.with_site(pairs, messages)
    twice = _repeated(phase, pairs, len(every))
    again = _repeated(phase, with_site, len(every))
    return ~twice | (~again & (every.lengths <= 2 * size))


def _repeated(owners: Indices, values: Indices, count: int) -> Mask:
    """Return by owner: whether two of its values are equal."""
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    same = (owners[1:] == owners[:-1]) & (values[1:] == values[:-1])
    return np.asarray(np.bincount(owners[1:][same], minlength=count) > 0)


def _at_once(traffic: Traffic, every: Rows) -> Mask:
    """Return whether ranks do little else from their first message of it to their last."""
    firsts = every.first[:-1]
    lasting = np.maximum.reduceat(traffic.received[every.at], firsts)
    lasting -= np.minimum.reduceat(traffic.sent[every.at], firsts)
    return np.asarray(lasting <= _BESIDE * 2 * every.lengths)


def _undisturbed(traffic: Traffic, every: Rows) -> Mask:
    """Return whether most ranks do nothing else between what they send: what comes beside each
    message has been announced by it."""
    messages, phase, ranks = every.at, every.owners, traffic.nprocs
    senders = phase * ranks + traffic.source[messages]
    order = np.lexsort((traffic.sent_as[messages], senders))
    senders, places = senders[order], traffic.sent_as[messages][order]
    heads = np.flatnonzero(np.append(True, senders[1:] != senders[:-1])[: len(senders)])
    tails = np.append(heads[1:], len(senders))[: len(heads)] - 1
    own = np.bincount(senders, minlength=len(every) * ranks)
    own += np.bincount(phase * ranks + traffic.target[messages], minlength=len(own))
    beside = places[tails] - places[heads] + 1 > own[senders[heads]]
    of_phase = senders[heads] // ranks
    disturbed = np.bincount(of_phase, beside, minlength=len(every))
    return np.asarray(2 * disturbed <= np.bincount(of_phase, minlength=len(every)))


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
