"""Broadcasts that reached a part of a communicator: the rows and columns of a grid, and groups that
come again. A few ranks that once had the same content are no group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plumbline.detect.atoms import Atoms
from plumbline.detect.classes import WAYS, classes_of
from plumbline.detect.columns import Indices
from plumbline.detect.groups import partition
from plumbline.detect.instances import SMALLEST_GROUP
from plumbline.detect.traffic import Traffic

# Of a group that is no row or column.
OFTEN = 3
LARGE = 4
# Of an incomplete broadcast so many of the communicator's ranks must have been reached.
LEAST_COVERAGE = 0.75


def of_groups(traffic: Traffic, atoms: Atoms, which: Indices) -> tuple[Indices, Indices]:
    """Atoms that reached a group of their communicator, and the others."""
    found: list[Indices] = []
    left = which[_reached(atoms, which) >= SMALLEST_GROUP]
    for shared in WAYS:
        rows = classes_of(traffic, atoms.first_message[left], shared)
        rest: list[Indices] = []
        for row in range(len(rows)):
            members = left[rows[row]]
            comm = int(traffic.comm[atoms.first_message[members[0]]])
            ranks = traffic.recording.communicators[comm].ranks
            (found if _is_class(atoms, members, ranks) else rest).append(members)
        left = _joined(rest)
    return _joined(found), left


def _joined(listed: list[Indices]) -> Indices:
    return np.concatenate(listed) if listed else np.zeros(0, np.int64)


def _reached(atoms: Atoms, which: Indices) -> Indices:
    """By atom: how many ranks have it."""
    return atoms.sizes[atoms.group[which]]


def _is_class(atoms: Atoms, members: Indices, ranks: Sequence[int]) -> bool:
    """Whether the groups of a class are a partition, or apart from each other and used often."""
    numbers, times = np.unique(atoms.group[members], return_counts=True)
    groups = [atoms.members[number] for number in numbers.tolist()]
    if partition(groups, ranks):
        return True
    listed = [rank for group in groups for rank in group]
    apart = len(listed) == len(set(listed))
    return apart and all(
        len(group) >= LARGE and count >= OFTEN and len(group) <= len(ranks) / 2
        for group, count in zip(groups, times.tolist(), strict=True)
    )


def nearly(traffic: Traffic, atoms: Atoms, which: Indices) -> list[tuple[int, tuple[int, ...]]]:
    """Atoms that reached nearly all ranks of their communicator, and those that they missed."""
    comms = traffic.comm[atoms.first_message[which]]
    sizes = np.array([comm.size for comm in traffic.recording.communicators], np.int64)
    reached = _reached(atoms, which)
    some = (reached > SMALLEST_GROUP) & (reached >= LEAST_COVERAGE * sizes[comms])
    found = []
    for atom, comm in zip(which[some].tolist(), comms[some].tolist(), strict=True):
        ranks = set(traffic.recording.communicators[comm].ranks)
        found.append((atom, tuple(sorted(ranks - set(atoms.members[int(atoms.group[atom])])))))
    return found
