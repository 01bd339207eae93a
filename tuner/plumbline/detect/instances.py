"""Instances: times that ranks did together what a collective does, or nearly so; and classes of
messages that belong together."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Rows
from plumbline.detect.traffic import Traffic


def components(edges: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Ranks that edges connect, by their smallest rank."""
    parent: dict[int, int] = {}

    def top(rank: int) -> int:
        parent.setdefault(rank, rank)
        while parent[rank] != rank:
            parent[rank] = parent[parent[rank]]
            rank = parent[rank]
        return rank

    for first, second in edges:
        parent[top(first)] = top(second)
    groups: dict[int, list[int]] = {}
    for rank in sorted(parent):
        groups.setdefault(top(rank), []).append(rank)
    return sorted(tuple(group) for group in groups.values())


def partition(groups: Sequence[tuple[int, ...]], ranks: Sequence[int]) -> bool:
    """Return whether groups are all ranks, or rows and columns of them: equally large, without a
    common rank, and together everybody."""
    members = [rank for group in groups for rank in group]
    sizes = {len(group) for group in groups}
    return (
        len(sizes) == 1
        and min(sizes) >= SMALLEST_GROUP
        and len(members) == len(set(members)) == len(ranks)
        and set(members) == set(ranks)
    )


def described(group: Sequence[int]) -> str:
    """start:stride:count of ranks at equal distances, else a list."""
    strides = {right - lower for lower, right in itertools.pairwise(group)}
    if len(strides) == 1 and len(group) > 1:
        return f"{group[0]}:{next(iter(strides))}:{len(group)}"
    return ",".join(str(rank) for rank in group)


def split(groups: Sequence[tuple[int, ...]], ranks: Sequence[int]) -> str:
    """The colour and key of MPI_Comm_split that give these groups as C expressions of `rank`, the
    rank in the communicator that is split; "" where there is no simple one."""
    position = {rank: at for at, rank in enumerate(ranks)}
    if set(groups) == {tuple(sorted(ranks))}:
        return ""
    places = [sorted(position[rank] for rank in group) for group in groups]
    size = len(places[0])
    if all(
        places_of == list(range(places_of[0], places_of[0] + size)) and places_of[0] % size == 0
        for places_of in places
    ):
        return f"MPI_Comm_split(comm, rank / {size}, rank % {size}, &part)"
    stride = places[0][1] - places[0][0] if size > 1 else 0
    if stride and all(
        places_of == list(range(places_of[0], places_of[0] + stride * size, stride))
        and places_of[0] % (stride * size) < stride
        for places_of in places
    ):
        if stride * size == len(ranks):
            return f"MPI_Comm_split(comm, rank % {stride}, rank / {stride}, &part)"
        colour = f"rank / {stride * size} * {stride} + rank % {stride}"
        return f"MPI_Comm_split(comm, {colour}, rank, &part)"
    if len(groups) == 1:
        listed = " || ".join(f"rank == {place}" for place in places[0])
        if stride == 1 and places[0] == list(range(places[0][0], places[0][0] + size)):
            listed = f"rank >= {places[0][0]} && rank <= {places[0][-1]}"
        return f"MPI_Comm_split(comm, {listed} ? 0 : MPI_UNDEFINED, rank, &part)"
    return ""


Evidence = Literal["proved", "assumed", "weak"]

# An exchange of fewer ranks is a message, not a collective.
SMALLEST_GROUP = 3


class Instance(msgspec.Struct, frozen=True):
    """`messages` are in the order of their sends. `group` and `roots` are world ranks; of several
    roots each may have been it. `bytes` is what MPI calls the size: what each rank gives (gather),
    gets (scatter), or both; of an irregular one the total. `evidence`: *assumed* where a term that
    was never sent had to be inferred, *weak* where only what follows can make it a collective.
    `missing`: of an incomplete one, the ranks that had no part."""

    collective: str
    comm: int
    group: tuple[int, ...]
    messages: tuple[int, ...]
    bytes: int
    roots: tuple[int, ...] = ()
    irregular: bool = False
    operation: str = ""
    evidence: Evidence = "proved"
    missing: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of the group that had a part."""
        return len(self.group) / (len(self.group) + len(self.missing))


def last_received(traffic: Traffic, instance: Instance) -> int:
    return int(traffic.received[list(instance.messages)].max())


def messages_of(instances: Iterable[Instance]) -> Indices:
    """All messages of all of them, one behind the other."""
    every = itertools.chain.from_iterable(instance.messages for instance in instances)
    return np.fromiter(every, np.int64)


def in_order(messages: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(messages)))


# Messages that belong together, by what they share: one way to see it after the other, each among
# what the ways before it have left. Which of them are worth a look is told by
# tuner/detection/candidates.c.


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
