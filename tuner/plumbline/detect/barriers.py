"""Messages without content, after which everybody knows that everybody has come: barriers."""

from __future__ import annotations

from functools import partial

import numpy as np

from plumbline.detect.classes import Key, in_classes, in_groups
from plumbline.detect.columns import Indices, Mask
from plumbline.detect.instances import Instance
from plumbline.detect.knowledge import Phases, phases
from plumbline.detect.traffic import Traffic

# A message of so few bytes, that says the same each time, is a signal.
SIGNAL = 8

EXPLAINED = 0.5
# So many times its own messages may come and go while a barrier lasts.
BESIDE = 4


def barriers(traffic: Traffic, messages: Indices) -> list[Instance]:
    """Barriers among messages of one size that always say the same: on a communicator as a whole,
    from a call site, with a tag."""
    small = messages[traffic.bytes[messages] <= SIGNAL]
    keys: list[Key] = [
        lambda some: traffic.with_tag(traffic.bytes[some], some),
        lambda some: traffic.with_site(traffic.bytes[some], some),
        lambda some: traffic.bytes[some],
    ]
    return in_classes(traffic, small, keys, partial(_of_class, traffic))


def _of_class(traffic: Traffic, comm: int, members: Indices) -> list[Instance]:
    content = traffic.content[members]
    if (content != content[0]).any():
        return []
    found: list[Instance] = []
    for group, own in in_groups(traffic, comm, members):
        every = phases(traffic, own, group, rooted=False)
        good = every.picked(
            (every.complete == len(group))
            & _once(traffic, every, len(group))
            & _at_once(traffic, every)
            & _undisturbed(traffic, every)
        )
        if len(good.messages.at) < EXPLAINED * len(own):
            continue
        found += [
            Instance("barrier", comm, group, messages, 0) for messages in good.messages.tuples()
        ]
    return found


def _once(traffic: Traffic, every: Phases, size: int) -> Mask:
    """Whether no rank tells another one twice, but in a ring that goes round twice from two call
    sites: else neighbours tell each other, and news only gets about in time."""
    messages, phase = every.messages.at, every.messages.owners
    pairs = traffic.pairs(messages)
    with_site = traffic.with_site(pairs, messages)
    twice = _repeated(phase, pairs, len(every))
    again = _repeated(phase, with_site, len(every))
    return ~twice | (~again & (every.messages.lengths <= 2 * size))


def _repeated(owners: Indices, values: Indices, count: int) -> Mask:
    """By owner: whether two of its values are equal."""
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    same = (owners[1:] == owners[:-1]) & (values[1:] == values[:-1])
    return np.asarray(np.bincount(owners[1:][same], minlength=count) > 0)


def _at_once(traffic: Traffic, every: Phases) -> Mask:
    """Whether ranks do little else from their first message of it to their last."""
    messages, count = every.messages, every.messages.lengths
    some = count > 0
    firsts = messages.first[:-1][some]
    lasting = np.zeros(len(every), np.int64)
    if some.any():
        lasting[some] = np.maximum.reduceat(traffic.received[messages.at], firsts)
        lasting[some] -= np.minimum.reduceat(traffic.sent[messages.at], firsts)
    return np.asarray(lasting <= BESIDE * 2 * count)


def _undisturbed(traffic: Traffic, every: Phases) -> Mask:
    """Whether most ranks do nothing else between what they send: what comes beside each message
    has been announced by it."""
    messages, phase, ranks = every.messages.at, every.messages.owners, traffic.nprocs
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
