"""Messages that belong together, by what they share: one way to see it after the other, each among
what the ways before it have left."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from plumbline.detect.columns import Indices, classes, distinct
from plumbline.detect.groups import components, partition
from plumbline.detect.instances import Instance, messages_of
from plumbline.detect.traffic import Traffic

# What messages of a class have in common besides their communicator.
Key = Callable[[Indices], Indices]


def ways(traffic: Traffic) -> list[Key]:
    """To see what belongs together: what is sent from one call site; with one tag; all of it."""
    nothing = np.zeros(len(traffic), np.int64)
    return [
        lambda some: traffic.with_site(nothing[some], some),
        lambda some: traffic.with_tag(nothing[some], some),
        lambda some: nothing[some],
    ]


class Looked:
    """Which classes were looked at: another way to see it often gives the same ones."""

    def __init__(self, count: int) -> None:
        """Of numbers below `count`."""
        self._random = _random(count)
        self._seen: set[tuple[int, int]] = set()

    def first_time(self, members: Indices) -> bool:
        own = (len(members), int(self._random[members].sum()))
        is_new = own not in self._seen
        self._seen.add(own)
        return is_new


@functools.lru_cache(maxsize=2)
def _random(count: int) -> Indices:
    """63 bits each: sets of numbers are equal where the sums of these are."""
    return np.random.default_rng(1).integers(1 << 63, size=count)


def in_classes(
    traffic: Traffic,
    messages: Indices,
    keys: Sequence[Key],
    look: Callable[[int, Indices], Iterable[Instance]],
) -> list[Instance]:
    """What `look` finds in each class, given its communicator and messages; the messages of what
    was found are in no later class."""
    left = messages
    found: list[Instance] = []
    looked = Looked(len(traffic))
    for key in keys:
        rows = classes(traffic.comm[left], key(left))
        new: list[Instance] = []
        for row in range(len(rows)):
            members = left[rows[row]]
            if looked.first_time(members):
                new += look(int(traffic.comm[members[0]]), members)
        found += new
        taken = np.zeros(len(traffic), bool)
        taken[messages_of(new)] = True
        left = left[~taken[left]]
    return found


def in_groups(
    traffic: Traffic, comm: int, members: Indices
) -> Iterator[tuple[tuple[int, ...], Indices]]:
    """The groups of ranks that messages of a class connect, each with its own; none where they are
    not all ranks of the communicator, or rows of them."""
    ranks = traffic.nprocs
    pairs = distinct(traffic.pairs(members), ranks * ranks)
    groups = components(zip((pairs // ranks).tolist(), (pairs % ranks).tolist(), strict=True))
    if not partition(groups, traffic.recording.communicators[comm].ranks):
        return
    group_of = np.zeros(ranks, np.int64)
    for number, group in enumerate(groups):
        group_of[list(group)] = number
    mine = group_of[traffic.source[members]]
    for number, group in enumerate(groups):
        yield group, members[mine == number]
