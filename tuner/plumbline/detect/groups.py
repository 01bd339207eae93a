"""Groups of ranks: which belong together, and how MPI_Comm_split would say them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from plumbline.detect.instances import SMALLEST_GROUP


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
