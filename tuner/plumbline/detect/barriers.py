"""Messages without content, after which everybody knows that everybody has come: barriers."""

from __future__ import annotations

from functools import partial

import numpy as np

from plumbline.detect.classes import Search, Shared, in_classes
from plumbline.detect.columns import Indices, Mask, Rows
from plumbline.detect.instances import Instance
from plumbline.detect.knowledge import MessageClass, Way
from plumbline.detect.traffic import Traffic

# A message of so few bytes, with the same content each time, is a signal.
SIGNAL = 8

EXPLAINED = 0.5
# While a barrier lasts, at most so many times as many other messages may be sent.
BESIDE = 4


def barriers(traffic: Traffic, messages: Indices) -> list[Instance]:
    """Barriers among messages of one size that always say the same: on a communicator as a whole,
    from a call site, with a tag."""
    small = messages[traffic.bytes[messages] <= SIGNAL]
    ways = (Shared.BYTES | Shared.TAG, Shared.BYTES | Shared.SITE, Shared.BYTES)
    return in_classes(traffic, small, ways, Search.BARRIERS, partial(_of_group, traffic))


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
    if len(good.at) < EXPLAINED * len(messages):
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
    return np.asarray(lasting <= BESIDE * 2 * every.lengths)


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
