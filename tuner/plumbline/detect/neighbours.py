"""Exchanges with the same few ranks, again and again: what neighbourhood collectives are for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from plumbline.detect.detecting import Detected
from plumbline.detect.findings import HandMade, described_messages
from plumbline.detect.groups import components
from plumbline.detect.traffic import Traffic

# Rounds after which an exchange is a habit.
ROUNDS = 3


def neighbourhoods(detected: Detected) -> list[HandMade]:
    """Of messages that belong to no collective, by communicator: each edge of the graph is used
    equally often, in both directions, and nobody is the centre of it."""
    traffic = detected.traffic
    classes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for message in detected.unclaimed:
        if traffic.bytes[message]:
            classes[traffic.comm[message], _function(traffic, message)].append(message)
    return [
        found
        for (comm, _), messages in classes.items()
        if (found := _neighbourhood(traffic, comm, messages)) is not None
    ]


def _function(traffic: Traffic, message: int) -> int:
    """Where the function was called that sends: its lines belong together."""
    site = traffic.send_site[message]
    if site < 0:
        return -1
    frames = traffic.recording.call_sites[site].frames
    return hash((frames[0].module, frames[0].function)) if frames else -1


def _neighbourhood(traffic: Traffic, comm: int, messages: Sequence[int]) -> HandMade | None:
    edges = Counter((traffic.source[m], traffic.target[m]) for m in messages)
    edges = Counter({pair: count for pair, count in edges.items() if pair[0] != pair[1]})
    if not edges or components(edges) != [tuple(sorted({r for pair in edges for r in pair}))]:
        return None
    degrees = Counter(source for source, _ in edges)
    ranks = traffic.recording.communicators[comm].size
    times = Counter(edges.values()).most_common(1)[0][0]
    symmetric = all((target, source) in edges for source, target in edges)
    even = all(count % min(edges.values()) == 0 for count in edges.values())
    sparse = max(degrees.values()) < max(3, ranks - 1) and len(edges) < ranks * (ranks - 1)
    several = sum(degrees.values()) >= 1.3 * len(degrees)
    if not (symmetric and even and sparse and several and min(edges.values()) >= ROUNDS):
        return None
    if len(degrees) < ranks:
        return None
    alike = _same_to_all(traffic, messages)
    name = "MPI_Neighbor_allgather" if alike else "MPI_Neighbor_alltoall"
    sizes = {traffic.bytes[message] for message in messages}
    return described_messages(
        traffic,
        messages,
        category="neighbourhood",
        function=name + ("v" if len(sizes) > 1 else ""),
        comm=comm,
        instances=times,
        remarks=(
            f"each rank has {_range(degrees.values())} neighbours, always the same: "
            "MPI_Dist_graph_create_adjacent, once",
        ),
    )


def _range(degrees: Iterable[int]) -> str:
    values = sorted(degrees)
    return str(values[0]) if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def _same_to_all(traffic: Traffic, messages: Sequence[int]) -> bool:
    """Whether each rank sends each content to all of its neighbours."""
    targets: dict[int, set[int]] = defaultdict(set)
    told: dict[tuple[int, int], set[int]] = defaultdict(set)
    for message in messages:
        source = traffic.source[message]
        targets[source].add(traffic.target[message])
        told[source, traffic.content[message]].add(traffic.target[message])
    return all(ranks == targets[source] for (source, _), ranks in told.items())
