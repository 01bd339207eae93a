"""Items cut where messages cut them: each atom is handed on as a whole, so that it can be said who
had it when."""

from __future__ import annotations

import itertools
from collections import defaultdict

import msgspec

from plumbline.detect.provenance import Provenance
from plumbline.detect.traffic import Traffic


class Atom(msgspec.Struct, frozen=True, eq=False):
    """Bytes [low, high) of an item on one communicator. `messages` carried it, in causal order;
    `origin` had it first there; `receivers` are all ranks but the origin that they reached;
    `keepers` are those that did not hand it on."""

    item: int
    origin: int
    low: int
    high: int
    address: int  # in the memory of the item's origin
    messages: tuple[int, ...]
    receivers: frozenset[int]
    keepers: frozenset[int]

    @property
    def bytes(self) -> int:
        return self.high - self.low


def atoms(traffic: Traffic, provenance: Provenance) -> list[Atom]:
    """In the order of their items' first sends."""
    carried: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for message, parts in enumerate(provenance.parts):
        for item, low, high in parts:
            carried[item].append((message, low, high))
    found = []
    for item in sorted(carried):
        pieces = carried[item]
        cuts = sorted({edge for _, low, high in pieces for edge in (low, high)})
        if len(cuts) == 2:
            found += _of_comms(traffic, provenance, item, cuts, [each[0] for each in pieces])
            continue
        for edges in itertools.pairwise(cuts):
            having = [m for m, low, high in pieces if low <= edges[0] and edges[1] <= high]
            if having:
                found += _of_comms(traffic, provenance, item, list(edges), having)
    return found


def _of_comms(
    traffic: Traffic, provenance: Provenance, item: int, edges: list[int], messages: list[int]
) -> list[Atom]:
    """An atom for each communicator: what went along a row and then along columns are several
    broadcasts, each by the rank that had it first there."""
    comms = {traffic.comm[message] for message in messages}
    if len(comms) == 1:
        return [_atom(traffic, provenance, item, edges, messages)]
    return [
        _atom(traffic, provenance, item, edges, [m for m in messages if traffic.comm[m] == comm])
        for comm in sorted(comms)
    ]


def _atom(
    traffic: Traffic, provenance: Provenance, item: int, edges: list[int], messages: list[int]
) -> Atom:
    source, target = traffic.source, traffic.target
    origin = source[messages[0]]
    last: dict[int, int] = {}
    for message in messages:
        last.setdefault(target[message], message)
        if source[message] in last:
            last[source[message]] = -1
    receivers = frozenset(last) - {origin}
    keepers = frozenset(rank for rank in receivers if last[rank] >= 0)
    address = provenance.items[item].address + edges[0]
    low, high = edges
    return Atom(item, origin, low, high, address, tuple(messages), receivers, keepers)


def arrival(traffic: Traffic, provenance: Provenance, atom: Atom, message: int) -> int:
    """Where it lies at the rank that got it with a message."""
    offset = 0
    for item, low, high in provenance.parts[message]:
        if item == atom.item and low <= atom.low < high:
            return traffic.to_address[message] + offset + atom.low - low
        offset += high - low
    return traffic.to_address[message]
