"""Messages without content, after which everybody knows that everybody has come: barriers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

from plumbline.detect.groups import components, partition
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
    left = [message for message in messages if traffic.bytes[message] <= SIGNAL]
    keys: list[Callable[[int], tuple[int, ...]]] = [
        lambda m: (traffic.comm[m], traffic.bytes[m], traffic.tag[m]),
        lambda m: (traffic.comm[m], traffic.bytes[m], traffic.send_site[m]),
        lambda m: (traffic.comm[m], traffic.bytes[m]),
    ]
    found: list[Instance] = []
    for key in keys:
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for message in left:
            classes[key(message)].append(message)
        new = [
            instance
            for (comm, *_), members in classes.items()
            if len({traffic.content[message] for message in members}) == 1
            for instance in _of_class(traffic, comm, members)
        ]
        found += new
        taken = {message for instance in new for message in instance.messages}
        left = [message for message in left if message not in taken]
    return found


def _of_class(traffic: Traffic, comm: int, members: Sequence[int]) -> list[Instance]:
    ranks = traffic.recording.communicators[comm].ranks
    groups = components({(traffic.source[m], traffic.target[m]) for m in members})
    if not partition(groups, ranks):
        return []
    found = []
    for group in groups:
        inside = set(group)
        own = [message for message in members if traffic.source[message] in inside]
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
