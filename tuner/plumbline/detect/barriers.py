"""Messages without content, after which everybody knows that everybody has come: barriers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

from plumbline.detect.classes import Key, in_classes, in_groups
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.knowledge import Phase, phases
from plumbline.detect.traffic import Traffic

# A message of so few bytes, that says the same each time, is a signal.
SIGNAL = 8

EXPLAINED = 0.5
# So many times its own messages may come and go while a barrier lasts.
BESIDE = 4


def barriers(traffic: Traffic, messages: Iterable[int]) -> list[Instance]:
    """Barriers among messages of one size that always say the same: on a communicator as a whole,
    from a call site, with a tag."""
    small = [message for message in messages if traffic.bytes[message] <= SIGNAL]
    keys: list[Key] = [
        lambda m: (traffic.comm[m], traffic.bytes[m], traffic.tag[m]),
        lambda m: (traffic.comm[m], traffic.bytes[m], traffic.send_site[m]),
        lambda m: (traffic.comm[m], traffic.bytes[m]),
    ]
    return in_classes(small, keys, partial(_of_class, traffic))


def _of_class(traffic: Traffic, comm: int, members: Sequence[int]) -> list[Instance]:
    if len({traffic.content[message] for message in members}) > 1:
        return []
    found: list[Instance] = []
    for group, own in in_groups(traffic, comm, members):
        good = [
            phase
            for phase in phases(traffic, own, group, rooted=False)
            if phase.complete == (1 << len(group)) - 1
            and _once(traffic, phase, group)
            and _at_once(traffic, phase)
        ]
        if sum(len(phase.messages) for phase in good) < EXPLAINED * len(own):
            continue
        found += [Instance("barrier", comm, group, in_order(phase.messages), 0) for phase in good]
    return [each for each in found if len(each.group) >= SMALLEST_GROUP]


def _once(traffic: Traffic, phase: Phase, group: Sequence[int]) -> bool:
    """Whether no rank tells another one twice, but in a ring that goes round twice from two call
    sites: else neighbours tell each other, and news only gets about in time."""
    channels = Counter((traffic.source[m], traffic.target[m]) for m in phase.messages)
    if max(channels.values()) == 1:
        return True
    apart = {(traffic.source[m], traffic.target[m], traffic.send_site[m]) for m in phase.messages}
    return len(apart) == len(phase.messages) <= 2 * len(group)


def _at_once(traffic: Traffic, phase: Phase) -> bool:
    """Whether ranks do little else from their first message of it to their last."""
    first = min(traffic.sent[message] for message in phase.messages)
    last = max(traffic.received[message] for message in phase.messages)
    return last - first <= BESIDE * 2 * len(phase.messages)
