"""Exchanges with the same few ranks, again and again: what neighbourhood collectives are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from plumbline.detect.columns import (
    Indices,
    classes,
    counted,
    distinct,
    first_of_each,
    numbered,
)
from plumbline.detect.detecting import Detected
from plumbline.detect.findings import HandMade, described_messages
from plumbline.detect.groups import components
from plumbline.detect.personal import is_uneven
from plumbline.detect.traffic import Traffic

# Rounds after which an exchange is a habit.
ROUNDS = 3


def neighbourhoods(detected: Detected) -> list[HandMade]:
    """Of messages that belong to no collective, by communicator: each edge of the graph is used
    equally often, in both directions, and nobody is the centre of it."""
    traffic = detected.traffic
    messages = np.array(detected.unclaimed, np.int64)
    messages = messages[traffic.bytes[messages] > 0]
    rows = classes(traffic.comm[messages], traffic.functions[messages])
    found = (_neighbourhood(traffic, messages[rows[row]]) for row in range(len(rows)))
    return [each for each in found if each is not None]


def _neighbourhood(traffic: Traffic, messages: Indices) -> HandMade | None:
    comm = int(traffic.comm[messages[0]])
    pairs, counts = counted(traffic.pairs(messages), traffic.nprocs**2)
    named = [divmod(pair, traffic.nprocs) for pair in pairs.tolist()]
    edges = {
        pair: count
        for pair, count in zip(named, counts.tolist(), strict=True)
        if pair[0] != pair[1]
    }
    if not edges or components(edges) != [tuple(sorted({r for pair in edges for r in pair}))]:
        return None
    degrees = Counter(source for source, _ in edges)
    ranks = traffic.recording.communicators[comm].size
    times = Counter(edges.values()).most_common(1)[0][0]
    symmetric = all((target, source) in edges for source, target in edges)
    even = all(count % min(edges.values()) == 0 for count in edges.values())
    sparse = max(degrees.values()) < max(3, ranks - 1) and len(edges) < ranks * (ranks - 1)
    uneven = bool(is_uneven(np.bincount(traffic.pairs(messages), traffic.bytes[messages])[pairs]))
    several = sum(degrees.values()) >= 1.3 * len(degrees)
    if not (
        symmetric and even and (sparse or uneven) and several and min(edges.values()) >= ROUNDS
    ):
        return None
    if len(degrees) < ranks:
        return None
    alike = _same_to_all(traffic, messages)
    name = "MPI_Neighbor_allgather" if alike else "MPI_Neighbor_alltoall"
    sizes = traffic.bytes[messages]
    return described_messages(
        traffic,
        messages,
        name + ("v" if (sizes != sizes[0]).any() else ""),
        instances=times,
        remarks=(
            f"each rank has {_range(degrees.values())} neighbours, always the same: "
            "MPI_Dist_graph_create_adjacent, once",
        ),
    )


def _range(degrees: Iterable[int]) -> str:
    values = sorted(degrees)
    return str(values[0]) if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def _same_to_all(traffic: Traffic, messages: Indices) -> bool:
    """Whether each rank sends each content to all of its neighbours."""
    sources, targets = traffic.source[messages], traffic.target[messages]
    told = numbered(sources, traffic.content[messages])
    heads = first_of_each(numbered(told, targets))  # a message for each content and neighbour
    reached = np.bincount(told[heads])
    pairs = distinct(traffic.pairs(messages), traffic.nprocs**2)
    degrees = np.bincount(pairs // traffic.nprocs, minlength=traffic.nprocs)
    return bool((reached[told] == degrees[sources]).all())
