"""Contents that each have one rank to go to: scatters, gathers and exchanges of all with all. Who
had what together, and when, is told by addresses: a root owns all parts at once."""

from __future__ import annotations

import enum
import functools
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core
from plumbline.detect.core import Indices, Mask, Rows, classes
from plumbline.detect.provenance import Atoms, Provenance
from plumbline.detect.recording import PAYLOAD
from plumbline.detect.traffic import (
    SMALLEST_GROUP,
    WAYS,
    ClassSearch,
    Instance,
    Traffic,
    classes_of,
    components,
    in_classes,
    in_order,
    messages_of,
    partition,
)

# Exchanges of all with all by Bruck's algorithm: blocks go to the rank 1, 2, 4 … further, by the
# bits of their distance, many in one message. One block of each message goes nowhere else, so
# hashes prove nothing. What is known are partners and sizes, that each message waits for the one
# before, and of short messages which blocks were handed on.

_UNPROVED = "by partners and sizes: contents of more than 64 bytes cannot prove it"

_Turns = Indices  # shape (ranks, times, steps): messages, by who sends them


def alltoalls(traffic: Traffic, messages: Indices) -> list[Instance]:
    some = messages[traffic.bytes[messages] > 0]
    return in_classes(traffic, some, WAYS[:2], ClassSearch.BRUCK, partial(_of_group, traffic))


def _of_group(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Indices
) -> Iterator[Instance]:
    turns = _turns(traffic, group, messages)
    if turns is None:
        return
    proved = _is_handed_on(traffic, turns)
    if proved is False:
        return
    block = traffic.bytes[turns[0, :, 0]] // _blocks(len(group))[0]
    for time in range(turns.shape[1]):
        yield Instance(
            "alltoall",
            comm,
            group,
            in_order(turns[:, time].ravel().tolist()),
            int(block[time]),
            evidence="proved" if proved else "assumed",
            remarks=() if proved else (_UNPROVED,),
        )


def _blocks(size: int) -> Indices:
    """Return by step: how many blocks go on."""
    distances = np.arange(size)
    return np.array([(distances >> step & 1).sum() for step in range((size - 1).bit_length())])


def _turns(traffic: Traffic, group: tuple[int, ...], messages: Indices) -> _Turns | None:
    """None: these are not the messages of Bruck's algorithm. A rank's are turned so that the
    sender of what rank i waits for in a step is i - 2 ** step."""
    size = len(group)
    blocks = _blocks(size)
    place = np.zeros(traffic.nprocs, np.int64)
    place[list(group)] = np.arange(size)
    sources = place[traffic.source[messages]]
    order = np.argsort(sources, kind="stable")
    turns: _Turns = messages[order].reshape(size, -1, len(blocks))
    distance = (place[traffic.target[turns]] - place[traffic.source[turns]]) % size
    hops = 1 << np.arange(len(blocks))
    if (distance == size - hops).all():  # downwards
        turns = turns[::-1]
    nbytes, content = traffic.bytes[turns], np.sort(traffic.content[turns], axis=None)
    fits = (nbytes * blocks[0] == nbytes[:1, :, :1] * blocks).all()
    fits &= (nbytes[0, :, 0] % blocks[0] == 0).all() and (content[1:] != content[:-1]).all()
    for step, hop in enumerate(hops[:-1].tolist()):
        came = traffic.received[np.roll(turns[:, :, step], hop, axis=0)]
        fits &= (came < traffic.sent[turns[:, :, step + 1]]).all()
    return turns if fits else None


def _is_handed_on(traffic: Traffic, turns: _Turns) -> bool | None:
    """Return whether blocks are handed on that came in the steps before; None: contents are not
    known."""
    size, _, steps = turns.shape
    nbytes = traffic.bytes[turns]
    if nbytes.max() > PAYLOAD:
        return None
    moving = [[at for at in range(size) if at >> step & 1] for step in range(steps)]
    for time, block in enumerate((nbytes[0, :, 0] // len(moving[0])).tolist()):
        of_block = traffic.payload(turns[:, time])[:, :, : block * (PAYLOAD // block)]
        blocks = of_block.reshape(size, steps, -1, block)
        for step in range(1, steps):
            for at in moving[step]:
                before = [earlier for earlier in range(step) if at >> earlier & 1]
                if before:
                    came = np.roll(blocks[:, before[-1]], 1 << before[-1], axis=0)
                    came = came[:, moving[before[-1]].index(at)]
                    if (came != blocks[:, step, moving[step].index(at)]).any():
                        return False
    return True


# A collective explains a class of messages if it contains at least this share of them.
EXPLAINED = 0.5
# Neighbours exchange faces, edges and corners, whose sizes differ more than the parts of an array.
UNEVEN = 4
# On fewer ranks the neighbours in three dimensions are all other ranks.
LARGE = 5
# An incomplete collective must contain at least this share of the group.
LEAST_COVERAGE = 0.75

Pairs = dict[tuple[int, int], Indices]  # deliveries by origin and keeper, in order


class _Arrangement(enum.IntEnum):
    """The worst one first."""

    OVERLAPPING = 0  # they were never there together
    APART = 1  # anywhere
    ORDER = 2  # side by side, but of unequal sizes or in another order
    REGULAR = 3  # equal blocks at equal distances, by ranks, at a larger stride (columns)
    ARRAY = 4  # the same, with room for the own one and nothing else


class Deliveries(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A number each: all that one rank has for another one, in one go. `…_gaps`: bytes of an
    element, where there are gaps; `first`: the message with which it set out."""

    origin: Indices
    keeper: Indices
    from_address: Indices
    to_address: Indices
    bytes: Indices
    from_gaps: Indices
    to_gaps: Indices
    first: Indices
    messages: Rows

    def __len__(self) -> int:
        return len(self.origin)

    def count_messages(self, which: Indices) -> int:
        """Return how many they are, each once."""
        messages = np.sort(self.messages.picked(which).at)
        return 1 + int((messages[1:] != messages[:-1]).sum())


def deliveries(
    traffic: Traffic, provenance: Provenance, atoms: Atoms, which: Indices
) -> Deliveries:
    """Return the deliveries of atoms that one rank keeps. Neighbouring deliveries of a pair of
    ranks that one call site sends behind each other are one delivery."""
    which = atoms.in_order(traffic, which[atoms.keepers[which] == 1])
    atom, *columns, first, at = core.call(
        "pl_deliveries", traffic.passed, provenance.parts.passed, atoms.passed, which, len(which)
    )
    from_address, to_address, nbytes, from_gaps, to_gaps = columns
    return Deliveries(
        origin=atoms.origin[atom],
        keeper=atoms.keeper[atom],
        from_address=from_address,
        to_address=to_address,
        bytes=nbytes,
        from_gaps=from_gaps,
        to_gaps=to_gaps,
        first=atoms.first_message[atom],
        messages=Rows(first, at),
    )


class _Class(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Deliveries that have something in common."""

    traffic: Traffic
    all: Deliveries
    comm: int
    members: Indices

    @property
    def ranks(self) -> tuple[int, ...]:
        return self.traffic.recording.communicators[self.comm].ranks

    @functools.cached_property
    def pairs(self) -> Pairs:
        origin, keeper = self.all.origin[self.members], self.all.keeper[self.members]
        rows = classes(origin, keeper)
        heads = rows.at[rows.first[:-1]]
        named = zip(origin[heads].tolist(), keeper[heads].tolist(), strict=True)
        return {pair: self.members[rows[row]] for row, pair in enumerate(named)}


def personal(traffic: Traffic, candidates: Deliveries) -> list[Instance]:
    """Collectives among deliveries: in classes of a call site first, then of a tag, then of a
    communicator as a whole."""
    instances: list[Instance] = []
    taken = np.zeros(len(traffic), bool)
    looked: set[int] = set()  # another way to see it often gives the same classes
    for shared in WAYS:
        unclaimed = np.flatnonzero(~candidates.messages.with_any(taken))
        first = candidates.first[unclaimed]
        rows = classes_of(traffic, first, shared)
        for row in range(len(rows)):
            members = unclaimed[rows[row]]
            own = hash(members.tobytes())
            if own in looked:
                continue
            looked.add(own)
            comm = int(traffic.comm[candidates.first[members[0]]])
            new = _of_class(_Class(traffic, candidates, comm, members))
            instances += new
            taken[messages_of(new)] = True
    return instances


def _of_class(which: _Class) -> list[Instance]:
    everything = which.all.count_messages(which.members)
    for finder in (_exchanges, _gathers, _scatters):
        instances = list(finder(which))
        if sum(len(instance.messages) for instance in instances) >= EXPLAINED * everything:
            return instances
    return []


def _exchanges(which: _Class) -> Iterator[Instance]:
    pairs = which.pairs
    groups = components(pairs)
    if not partition(groups, which.ranks):
        return
    for group in groups:
        directed_pairs = [(origin, right) for origin in group for right in group if origin != right]
        if any(pair not in pairs for pair in directed_pairs):
            continue
        times = min(len(pairs[pair]) for pair in directed_pairs)
        # Shape: (times, origins, keepers).
        blocks = np.array([pairs[pair][:times] for pair in directed_pairs]).T
        blocks = blocks[~_of_neighbours(which.all.bytes[blocks], len(group))]
        if not len(blocks):
            continue
        leaving, coming = _sides(which.all, blocks, group)
        sizes = which.all.bytes[blocks]
        # Equal ones that do not lie by ranks are those of neighbours, in an order of their own.
        even = sizes.min(axis=1) == sizes.max(axis=1)
        least = np.where(even, _Arrangement.REGULAR, _Arrangement.ORDER)
        placed = np.maximum(leaving, coming) >= least
        first = which.all.first[blocks]
        in_turn = even & _are_in_turn(which.traffic.sent[first], len(group))
        in_turn &= len(np.unique(which.traffic.send_site[first])) == 1
        in_turn &= len(group) >= LARGE or (len(group) == LARGE - 1 and _is_all(which, group))
        for time in np.flatnonzero(placed | in_turn).tolist():
            kinds = (_Arrangement(leaving[time]), _Arrangement(coming[time]))
            yield _exchange(which, group, blocks[time], kinds)


def _are_in_turn(sent: Indices, ranks: int) -> Mask:
    """Return by time, of all pairs in order: whether each rank sends to the one 1, 2, 3 … further,
    up or down, or by the bits in which they differ: a loop does that."""
    numbers = np.full((len(sent), ranks, ranks), -1)
    numbers[:, ~np.eye(ranks, dtype=bool)] = sent
    partners, own = numbers.argsort(axis=2)[:, :, 1:], np.arange(ranks)[:, None]
    steps = np.arange(1, ranks)
    up = ((partners - own) % ranks == steps).all(axis=(1, 2))
    down = ((own - partners) % ranks == steps).all(axis=(1, 2))
    bits = (partners ^ own == steps).all(axis=(1, 2))
    return np.asarray(up | down | bits)


def _is_all(which: _Class, group: tuple[int, ...]) -> bool:
    """Return whether the ranks of a group send each other nothing else: those that have neighbours
    mostly do, from other lines."""
    traffic = which.traffic
    both = np.isin(traffic.source, group) & np.isin(traffic.target, group)
    own_messages = which.all.messages.picked(which.members).at
    return int(both.sum()) == len(np.unique(own_messages))


def is_uneven(sizes: Indices | npt.NDArray[np.float64]) -> Mask:
    """Along the last axis."""
    return np.asarray(sizes.max(axis=-1) >= UNEVEN * sizes.min(axis=-1))


def _of_neighbours(sizes: Indices, ranks: int) -> Mask:
    """Return by time, of all pairs in order: whether each gives what it gets, and some much more
    than others."""
    size_matrix = np.zeros((len(sizes), ranks, ranks), np.int64)
    size_matrix[:, ~np.eye(ranks, dtype=bool)] = sizes
    return np.asarray(
        (size_matrix == size_matrix.transpose(0, 2, 1)).all(axis=(1, 2)) & is_uneven(sizes)
    )


def _sides(every: Deliveries, blocks: Indices, group: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Return by time: how blocks lie at senders and at receivers, the worst of all ranks each."""
    times, size = len(blocks), len(group)
    origin, keeper = np.divmod(np.flatnonzero(~np.eye(size, dtype=bool)), size)
    worst = []
    for own, partner, address, gaps in (
        (origin, keeper, every.from_address, every.from_gaps),
        (keeper, origin, every.to_address, every.to_gaps),
    ):
        order = np.lexsort((partner, own))
        own_blocks = blocks[:, order].reshape(times * size, size - 1)
        places = np.broadcast_to(partner[order].reshape(size, size - 1), (times, size, size - 1))
        kinds = _layouts(
            address[own_blocks],
            every.bytes[own_blocks],
            places,
            np.tile(np.arange(size), times),
            np.repeat(gaps[blocks].max(axis=1), size),
            size,
        )
        worst.append(kinds.reshape(times, size).min(axis=1))
    return worst[0], worst[1]


def _exchange(
    which: _Class, group: tuple[int, ...], blocks: Indices, kinds: tuple[_Arrangement, _Arrangement]
) -> Instance:
    sizes = which.all.bytes[blocks]
    irregular = bool((sizes != sizes[0]).any())
    numeric = int(which.traffic.element[which.all.first[blocks[0]]]) not in (0, 14, 15)
    summed = kinds == (_Arrangement.ARRAY, _Arrangement.OVERLAPPING) and numeric
    return Instance(
        "reduce_scatter" if summed else "alltoall",
        which.comm,
        group,
        in_order(which.all.messages.picked(blocks).at.tolist()),
        int(sizes.sum() if irregular else sizes[0]),
        irregular=irregular,
        evidence="assumed" if summed or max(kinds) < _Arrangement.ORDER else "proved",
        remarks=_of_places(kinds, summed),
    )


def _of_places(kinds: tuple[_Arrangement, _Arrangement], summed: bool) -> tuple[str, ...]:
    if summed:
        return ("blocks are received into one place: summed, presumably",)
    if max(kinds) < _Arrangement.ORDER:
        return ("blocks have no array of their own: each rank sends to all others in turn",)
    return ()


_Rooted = Literal["gather", "scatter"]


def _gathers(which: _Class) -> Iterator[Instance]:
    by_root: dict[int, dict[int, Indices]] = defaultdict(dict)
    for (origin, keeper), listed in which.pairs.items():
        by_root[keeper][origin] = listed
    yield from _rooted("gather", which, by_root)


def _scatters(which: _Class) -> Iterator[Instance]:
    by_root: dict[int, dict[int, Indices]] = defaultdict(dict)
    for (origin, keeper), listed in which.pairs.items():
        by_root[origin][keeper] = listed
    yield from _rooted("scatter", which, by_root)


def _rooted(
    name: _Rooted, which: _Class, by_root: dict[int, dict[int, Indices]]
) -> Iterator[Instance]:
    ranks = which.ranks
    groups = [tuple(sorted({root, *others})) for root, others in by_root.items()]
    rows = partition(sorted(set(groups)), ranks)
    for (root, others), group in zip(by_root.items(), groups, strict=True):
        missing = tuple(sorted(set(ranks) - set(group)))
        nearly = len(group) >= max(SMALLEST_GROUP + 1, LEAST_COVERAGE * len(ranks))
        if len(group) < SMALLEST_GROUP or (missing and not rows and not nearly):
            continue
        times = min(len(listed) for listed in others.values())
        blocks = np.array([listed[:times] for listed in others.values()]).T
        exchanged = which.traffic.crossed[which.all.first[blocks]].mean(axis=1) > 0.5
        blocks = blocks[~exchanged]
        if not len(blocks):
            continue
        place = [group.index(rank) for rank in others]
        kinds = _root_side(name, which.all, blocks, place, group.index(root), len(group))
        for time in range(len(blocks)):
            kind = _Arrangement(kinds[time])
            few = bool(missing) or len(group) < 4
            if kind == _Arrangement.OVERLAPPING or (kind == _Arrangement.APART and few):
                continue
            absent = () if rows else missing
            yield _rooted_instance(name, which, (group, root), blocks[time], kind, absent)


def _root_side(
    name: _Rooted, every: Deliveries, blocks: Indices, place: list[int], own: int, size: int
) -> Indices:
    """Return by time: how blocks lie at the root."""
    address = every.from_address if name == "scatter" else every.to_address
    gaps = every.from_gaps if name == "scatter" else every.to_gaps
    times = len(blocks)
    return _layouts(
        address[blocks],
        every.bytes[blocks],
        np.broadcast_to(np.array(place), blocks.shape),
        np.full(times, own),
        gaps[blocks].max(axis=1),
        size,
    )


def _rooted_instance(
    name: _Rooted,
    which: _Class,
    where: tuple[tuple[int, ...], int],
    blocks: Indices,
    kind: _Arrangement,
    missing: tuple[int, ...],
) -> Instance:
    group, root = where
    sizes = which.all.bytes[blocks]
    irregular = bool((sizes != sizes[0]).any()) or kind == _Arrangement.ORDER
    remarks = ("the root has its blocks in places of their own, not in one array",)
    return Instance(
        name,
        which.comm,
        group,
        in_order(which.all.messages.picked(blocks).at.tolist()),
        int(sizes.sum() if irregular else sizes[0]),
        (root,),
        irregular=irregular,
        missing=missing,
        remarks=remarks if kind == _Arrangement.APART else (),
    )


def _layouts(
    address: Indices, nbytes: Indices, place: Indices, own: Indices, gaps: Indices, size: int
) -> Indices:
    """An Arrangement a row. Shape (rows, blocks): address and bytes of each block, and the place in
    the group of the rank that it is for or from; `own`, by row: the place of the rank that has
    them; `gaps`: 0, or bytes of an element of blocks with gaps, in which others may lie; `size`: of
    the group."""
    count, blocks = address.shape
    columns = [np.ravel(column) for column in (address, nbytes, place)]
    return core.call("pl_layouts", count, blocks, size, *columns, own, gaps)[0]
