"""Messages that belong together, by what they share: one way to see it after the other, each among
what the ways before it have left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from plumbline.detect.groups import components, partition
from plumbline.detect.instances import Instance
from plumbline.detect.traffic import Traffic

# What messages of a class have in common, their communicator first.
Key = Callable[[int], tuple[int, ...]]


def in_classes(
    messages: Iterable[int],
    keys: Sequence[Key],
    look: Callable[[int, list[int]], Iterable[Instance]],
) -> list[Instance]:
    """What `look` finds in each class, given its communicator and messages; the messages of what
    was found are in no later class."""
    left = list(messages)
    found: list[Instance] = []
    for key in keys:
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for message in left:
            classes[key(message)].append(message)
        new = [
            instance for (comm, *_), members in classes.items() for instance in look(comm, members)
        ]
        found += new
        taken = {message for instance in new for message in instance.messages}
        left = [message for message in left if message not in taken]
    return found


def in_groups(
    traffic: Traffic, comm: int, members: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """The groups of ranks that messages of a class connect, each with its own; none where they are
    not all ranks of the communicator, or rows of them."""
    groups = components({(traffic.source[m], traffic.target[m]) for m in members})
    if partition(groups, traffic.recording.communicators[comm].ranks):
        for group in groups:
            inside = set(group)
            yield group, [message for message in members if traffic.source[message] in inside]
