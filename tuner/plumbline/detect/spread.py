"""Contents that one rank had and at last all of a group have: broadcasts, whatever way they took,
and allgathers, which are a broadcast by each rank at once."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from plumbline.detect.atoms import Atom, arrival
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.provenance import Provenance
from plumbline.detect.traffic import Traffic

# Where more ranks may have been the root, they only say the same to each other.
MOST_ROOTS = 2
# So many segments of a broadcast are looked at together.
MOST_SEGMENTS = 1024
# So many other messages may come and go for each of its own while a rank hands on a content.
BESIDE = 4


class Spread(msgspec.Struct, frozen=True, eq=False):
    """Neighbouring atoms of one origin that all reached the same ranks: a broadcast's data."""

    origin: int
    comm: int
    group: frozenset[int]
    atoms: tuple[Atom, ...]

    @property
    def messages(self) -> tuple[int, ...]:
        return in_order({message for atom in self.atoms for message in atom.messages})

    @property
    def bytes(self) -> int:
        return sum(atom.bytes for atom in self.atoms)


def spreads(traffic: Traffic, provenance: Provenance, atoms: Iterable[Atom]) -> list[Spread]:
    """Of atoms that reached the same group each. Those that lie side by side, at their origin or
    where they arrive, are one, where they took different ways (scatter and allgather) or set out
    from one call site (segments); an origin's memory that is sent again begins another one."""
    by_origin: dict[tuple[int, int, frozenset[int]], list[Atom]] = defaultdict(list)
    for atom in atoms:
        group = atom.receivers | {atom.origin}
        by_origin[atom.origin, traffic.comm[atom.messages[0]], group].append(atom)
    found = []
    for (origin, comm, group), own in by_origin.items():
        own.sort(key=lambda atom: (traffic.sent[atom.messages[0]], atom.low))
        for epoch in _epochs(own):
            for run in _runs(traffic, provenance, epoch):
                found.append(Spread(origin, comm, group, tuple(run)))
    found.sort(key=lambda spread: traffic.sent[spread.messages[0]])
    return found


def _epochs(atoms: Sequence[Atom]) -> list[list[Atom]]:
    """Runs in which no address comes twice."""
    epochs: list[list[Atom]] = []
    starts: set[int] = set()
    for atom in atoms:
        if not epochs or atom.address in starts or len(epochs[-1]) >= MOST_SEGMENTS:
            epochs.append([])
            starts = set()
        epochs[-1].append(atom)
        starts.add(atom.address)
    return epochs


def _runs(traffic: Traffic, provenance: Provenance, atoms: Sequence[Atom]) -> list[list[Atom]]:
    """Atoms that belong together, each run in the order of sends."""
    if len(atoms) == 1:
        return [list(atoms)]
    run_of = list(range(len(atoms)))
    reference = min(atoms[0].receivers)
    places = [
        [atom.address for atom in atoms],
        [_place(traffic, provenance, atom, reference) for atom in atoms],
    ]
    for listed in places:
        order = sorted(range(len(atoms)), key=lambda at: listed[at])
        for left, right in itertools.pairwise(order):
            side_by_side = listed[left] + atoms[left].bytes == listed[right]
            if side_by_side and _belongs(traffic, atoms[left], atoms[right]):
                old, new = run_of[right], run_of[left]
                if old != new:
                    run_of = [new if run == old else run for run in run_of]
    runs: dict[int, list[Atom]] = defaultdict(list)
    for run, atom in zip(run_of, atoms, strict=True):
        runs[run].append(atom)
    return list(runs.values())


def _place(traffic: Traffic, provenance: Provenance, atom: Atom, rank: int) -> int:
    """Where an atom lies at a rank in the end."""
    message = next(m for m in reversed(atom.messages) if traffic.target[m] == rank)
    return arrival(traffic, provenance, atom, message)


def _belongs(traffic: Traffic, left: Atom, right: Atom) -> bool:
    if left.item == right.item:
        return True
    sites = [traffic.send_site[atom.messages[0]] for atom in (left, right)]
    return sites[0] == sites[1] or _ways(traffic, left) != _ways(traffic, right)


def _ways(traffic: Traffic, atom: Atom) -> set[tuple[int, int]]:
    return {(traffic.source[message], traffic.target[message]) for message in atom.messages}


def passing(provenance: Provenance, spread: Spread) -> bool:
    """Whether a content may only have passed by most of those that it reached: one part of longer
    messages, that went from rank to rank (the last block of a gather along a chain)."""
    atom = spread.atoms[0]
    return (
        len(spread.atoms) == 1
        and len(atom.keepers) == 1
        and len(atom.messages) == len(atom.receivers)
        and any(len(provenance.parts[message]) > 1 for message in atom.messages)
    )


def broadcast(traffic: Traffic, spread: Spread, more: Sequence[int]) -> Instance | None:
    """The broadcast that a spread is. `more`: messages that carried the same content besides,
    because of which other ranks may have been the root. None: a token that went round, or a
    content that all have anyhow."""
    messages = spread.messages
    roots: tuple[int, ...] = (spread.origin,)
    if len(spread.atoms) == 1:
        messages = in_order({*messages, *more})
        if _came_round(traffic, spread.atoms[0].messages, spread.origin):
            return None
        if _long_while(traffic, spread.atoms[0].messages):
            return None
        if len(messages) >= len(spread.group):
            roots = _roots(traffic, messages, spread)
        if len(roots) > MOST_ROOTS:
            return None
    return Instance(
        "bcast", spread.comm, tuple(sorted(spread.group)), messages, spread.bytes, roots
    )


def _came_round(traffic: Traffic, messages: Sequence[int], origin: int) -> bool:
    """Whether each rank handed it to one other, and the last one back to where it began."""
    ordered = sorted(messages, key=lambda message: traffic.sent[message])
    at = origin
    for message in ordered:
        if traffic.source[message] != at:
            return False
        at = traffic.target[message]
    return at == origin and len(ordered) > 2


def _long_while(traffic: Traffic, messages: Sequence[int]) -> bool:
    """Whether a rank does many other things between sending a content to one and to the next."""
    places: dict[int, list[int]] = defaultdict(list)
    for message in messages:
        places[traffic.source[message]].append(traffic.sent_as[message])
    return any(max(at) - min(at) > BESIDE * len(at) + 2 * BESIDE for at in places.values())


def _roots(traffic: Traffic, messages: Sequence[int], spread: Spread) -> tuple[int, ...]:
    """All ranks from which the content reached all others: the origin first."""
    senders = dict.fromkeys([spread.origin, *(traffic.source[message] for message in messages)])
    found = [rank for rank in senders if _reached(traffic, messages, rank) >= spread.group]
    return tuple(found) or (spread.origin,)


def _reached(traffic: Traffic, messages: Sequence[int], start: int) -> set[int]:
    """Who had a content in the end, if `start` had it first."""
    since = {start: -1}
    for message in sorted(messages, key=lambda message: traffic.sent[message]):
        begun = since.get(traffic.source[message])
        if begun is not None and begun <= traffic.sent[message]:
            target = traffic.target[message]
            since[target] = min(since.get(target, len(traffic.points)), traffic.received[message])
    return set(since)


def allgathers(
    traffic: Traffic, candidates: Sequence[Spread]
) -> tuple[list[Instance], list[Spread], list[Spread]]:
    """Allgathers; spreads that belong to none; and those of a rotation, whose receivers did not
    keep what they had: that is no collective. Candidates are in the order of their sends."""
    found: list[Instance] = []
    turned: list[Spread] = []
    left = list(candidates)
    for with_site in (True, False):
        waiting: dict[tuple[object, ...], dict[int, Spread]] = defaultdict(dict)
        rest: list[Spread] = []
        for spread in left:
            site = traffic.send_site[spread.messages[0]] if with_site else 0
            mine = waiting[spread.comm, spread.group, site]
            if spread.origin in mine:
                rest += mine.values()
                mine.clear()
            mine[spread.origin] = spread
            if len(mine) == len(spread.group):
                members = list(mine.values())
                mine.clear()
                if not _together(traffic, members):
                    rest += members
                elif not _kept(traffic, members):
                    turned += members
                else:
                    found.append(_allgather(members))
        for mine in waiting.values():
            rest += mine.values()
        left = sorted(rest, key=lambda spread: traffic.sent[spread.messages[0]])
    return found, left, turned


def _together(traffic: Traffic, members: Sequence[Spread]) -> bool:
    """Whether ranks gave what they had of their own, rather than one after the other when they
    had got the others': then at most one rank waits for all others, or each for one."""
    waited = 0
    for member in members:
        first = member.messages[0]
        bundled = {
            atom.item
            for other in members
            for atom in other.atoms
            if other is not member and first in atom.messages
        }
        if bundled:
            continue
        for other in members:
            if other is not member:
                waited += any(
                    traffic.target[message] == member.origin
                    and traffic.received[message] < traffic.sent[first]
                    for atom in other.atoms
                    for message in atom.messages
                )
    return waited < len(members)


def _kept(traffic: Traffic, members: Sequence[Spread]) -> bool:
    """Whether what ranks received lies side by side in the end, and not in one place after the
    other."""
    places: dict[int, set[int]] = defaultdict(set)
    count: dict[int, int] = defaultdict(int)
    for member in members:
        for atom in member.atoms:
            got: dict[int, int] = {}
            for message in atom.messages:
                if traffic.bytes[message] == atom.bytes:
                    got[traffic.target[message]] = traffic.to_address[message]
            for rank, address in got.items():
                if rank != atom.origin:
                    places[rank].add(address)
                    count[rank] += 1
    return all(len(places[rank]) == count[rank] for rank in places)


def _allgather(members: Sequence[Spread]) -> Instance:
    sizes = {member.bytes for member in members}
    messages = in_order({message for member in members for message in member.messages})
    total = sum(member.bytes for member in members)
    return Instance(
        "allgather",
        members[0].comm,
        tuple(sorted(members[0].group)),
        messages,
        total if len(sizes) > 1 else members[0].bytes,
        irregular=len(sizes) > 1,
    )


def complete(traffic: Traffic, atoms: Iterable[Atom]) -> tuple[list[Atom], list[Atom]]:
    """Atoms that reached all ranks of their communicator, and the others."""
    comms = [frozenset(comm.ranks) for comm in traffic.recording.communicators]
    full: list[Atom] = []
    partial: list[Atom] = []
    for atom in atoms:
        group = comms[traffic.comm[atom.messages[0]]]
        whole = len(group) >= SMALLEST_GROUP and atom.receivers | {atom.origin} == group
        (full if whole else partial).append(atom)
    return full, partial
