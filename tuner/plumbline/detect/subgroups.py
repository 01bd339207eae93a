"""Broadcasts that reached a part of a communicator: the rows and columns of a grid, and groups that
come again. A few ranks that once had the same content are no group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from plumbline.detect.atoms import Atom
from plumbline.detect.groups import partition
from plumbline.detect.instances import SMALLEST_GROUP
from plumbline.detect.traffic import Traffic

# Of a group that is no row or column.
OFTEN = 3
LARGE = 4
# Of an incomplete broadcast so many of the communicator's ranks must have been reached.
LEAST_COVERAGE = 0.75


def of_groups(traffic: Traffic, atoms: Iterable[Atom]) -> tuple[list[Atom], list[Atom]]:
    """Atoms that reached a group of their communicator, and the others."""
    keys: list[Callable[[Atom], tuple[int, ...]]] = [
        lambda atom: (traffic.comm[atom.messages[0]], traffic.send_site[atom.messages[0]]),
        lambda atom: (traffic.comm[atom.messages[0]], traffic.tag[atom.messages[0]]),
        lambda atom: (traffic.comm[atom.messages[0]],),
    ]
    found: list[Atom] = []
    left = [atom for atom in atoms if len(atom.receivers) + 1 >= SMALLEST_GROUP]
    for key in keys:
        classes: dict[tuple[int, ...], list[Atom]] = defaultdict(list)
        for atom in left:
            classes[key(atom)].append(atom)
        left = []
        for (comm, *_), members in classes.items():
            good = _is_class(members, traffic.recording.communicators[comm].ranks)
            (found if good else left).extend(members)
    return found, left


def _is_class(members: Sequence[Atom], ranks: Sequence[int]) -> bool:
    """Whether the groups of a class are a partition, or apart from each other and used often."""
    times: dict[tuple[int, ...], int] = defaultdict(int)
    for atom in members:
        times[tuple(sorted(atom.receivers | {atom.origin}))] += 1
    groups = list(times)
    if partition(groups, ranks):
        return True
    listed = [rank for group in groups for rank in group]
    apart = len(listed) == len(set(listed))
    return apart and all(
        len(group) >= LARGE and count >= OFTEN and len(group) <= len(ranks) / 2
        for group, count in times.items()
    )


def nearly(traffic: Traffic, atoms: Iterable[Atom]) -> list[tuple[Atom, tuple[int, ...]]]:
    """Atoms that reached nearly all ranks of their communicator, and those that they missed."""
    found = []
    for atom in atoms:
        ranks = set(traffic.recording.communicators[traffic.comm[atom.messages[0]]].ranks)
        group = atom.receivers | {atom.origin}
        if len(group) > SMALLEST_GROUP and len(group) >= LEAST_COVERAGE * len(ranks):
            found.append((atom, tuple(sorted(ranks - group))))
    return found
