"""Messages that belong together, by what they share: one way to see it after the other, each among
what the ways before it have left. Which of them are worth a look is told by
tuner/detection/candidates.c."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Rows
from plumbline.detect.instances import Instance, messages_of
from plumbline.detect.traffic import Traffic


class Shared(enum.IntFlag):
    """The things that messages of a class have in common besides their communicator."""

    NOTHING = 0
    KIND = 1
    SITE = 2
    TAG = 4
    BYTES = 8


WAYS = (Shared.SITE, Shared.TAG, Shared.NOTHING)
"""To see what belongs together: what is sent from one call site; with one tag; all of it."""


class ClassSearch(enum.IntEnum):
    """A search for something in classes."""

    BARRIERS = 0
    SURE_REDUCTIONS = 1
    REDUCTIONS = 2
    BRUCK = 3


def classes_of(traffic: Traffic, messages: Indices, shared: Shared) -> Rows:
    """Places in `messages` of those that have this in common, by class, in the order in which
    these come first."""
    return Rows(
        *core.call("pl_message_classes", traffic.passed, messages, len(messages), int(shared))
    )


def in_classes(
    traffic: Traffic,
    messages: Indices,
    ways: Sequence[Shared],
    search: ClassSearch,
    look: Callable[[int, tuple[int, ...], Indices], Iterable[Instance]],
) -> list[Instance]:
    """Return what `look` finds in classes, given a communicator, a group of its ranks that messages
    of the class connect, and these messages. Groups are all ranks of the communicator, or rows of
    them. The messages of what was found are in no later class."""
    unclaimed = messages
    instances: list[Instance] = []
    seen_hashes = np.zeros(0, np.int64)
    for shared in ways:
        arguments = (traffic.passed, unclaimed, len(unclaimed), int(shared), int(search))
        hashes, comms, group_first, groups, first, at = core.call(
            "pl_candidates", *arguments, traffic.ranks_of_comms, seen_hashes, len(seen_hashes)
        )
        seen_hashes = np.concatenate([seen_hashes, hashes])
        new: list[Instance] = []
        ranks, members = Rows(group_first, groups), Rows(first, at)
        for row, comm in enumerate(comms.tolist()):
            new += look(comm, tuple(ranks[row].tolist()), members[row])
        if new:
            instances += new
            taken = np.zeros(len(traffic), bool)
            taken[messages_of(new)] = True
            unclaimed = unclaimed[~taken[unclaimed]]
    return instances
