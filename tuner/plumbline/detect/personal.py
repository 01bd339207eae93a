"""Contents that each have one rank to go to: scatters, gathers and exchanges of all with all. Who
had what together, and when, is told by addresses: a root owns all parts at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from plumbline.detect import hashes
from plumbline.detect.atoms import Atom, arrival
from plumbline.detect.groups import components, partition
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.places import Layout, layout
from plumbline.detect.provenance import Provenance
from plumbline.detect.traffic import Traffic

# A class of messages is explained by a collective where at least this share of it is.
EXPLAINED = 0.5
# Of an incomplete one so many of the group must be there.
LEAST_COVERAGE = 0.75

Pair = tuple[int, int]  # origin, keeper


class Delivery(msgspec.Struct, frozen=True, eq=False):
    """Parts of an atom that belong together: all that one rank has for another one, in one go."""

    origin: int
    keeper: int
    atoms: tuple[Atom, ...]
    from_address: int
    to_address: int
    from_gaps: int = 0  # bytes of an element, where there are gaps
    to_gaps: int = 0

    @property
    def bytes(self) -> int:
        return sum(atom.bytes for atom in self.atoms)

    @property
    def messages(self) -> set[int]:
        return {message for atom in self.atoms for message in atom.messages}


def deliveries(traffic: Traffic, provenance: Provenance, atoms: Iterable[Atom]) -> list[Delivery]:
    """Of atoms that one rank keeps; neighbouring ones of a pair of ranks that are sent behind each
    other from one call site are one."""
    found: list[Delivery] = []
    last: dict[tuple[Pair, int], int] = {}
    for atom in sorted(atoms, key=lambda atom: (traffic.sent[atom.messages[0]], atom.low)):
        if len(atom.keepers) != 1:
            continue
        keeper = next(iter(atom.keepers))
        message = next(m for m in reversed(atom.messages) if traffic.target[m] == keeper)
        there = arrival(traffic, provenance, atom, message)
        key = ((atom.origin, keeper), traffic.send_site[atom.messages[0]])
        before = found[last[key]] if key in last else None
        if before is not None and _goes_on(before, atom, there):
            found[last[key]] = msgspec.structs.replace(before, atoms=(*before.atoms, atom))
            continue
        last[key] = len(found)
        width = hashes.width(traffic.element[message])
        gaps = (width * traffic.from_gaps[atom.messages[0]], width * traffic.to_gaps[message])
        found.append(Delivery(atom.origin, keeper, (atom,), atom.address, there, *gaps))
    return found


def _goes_on(before: Delivery, atom: Atom, arrival: int) -> bool:
    there = before.to_address + before.bytes == arrival
    return there and before.from_address + before.bytes == atom.address


Key = Callable[[Delivery], tuple[int, ...]]


def personal(traffic: Traffic, candidates: Sequence[Delivery]) -> list[Instance]:
    """Collectives among deliveries: in classes of a call site first, then of a tag, then of a
    communicator as a whole."""
    keys: list[Key] = [
        lambda each: (traffic.comm[_first(each)], traffic.send_site[_first(each)]),
        lambda each: (traffic.comm[_first(each)], traffic.tag[_first(each)]),
        lambda each: (traffic.comm[_first(each)],),
    ]
    found: list[Instance] = []
    taken: set[int] = set()
    for key in keys:
        classes: dict[tuple[int, ...], list[Delivery]] = defaultdict(list)
        for each in candidates:
            if not each.messages & taken:
                classes[key(each)].append(each)
        for (comm, *_), members in classes.items():
            new = _of_class(traffic, comm, members)
            found += new
            taken |= {message for instance in new for message in instance.messages}
    return found


def _first(delivery: Delivery) -> int:
    return delivery.atoms[0].messages[0]


def _of_class(traffic: Traffic, comm: int, members: Sequence[Delivery]) -> list[Instance]:
    pairs: dict[Pair, list[Delivery]] = defaultdict(list)
    for each in members:
        pairs[each.origin, each.keeper].append(each)
    ranks = traffic.recording.communicators[comm].ranks
    found: list[Instance] = []
    for finder in (_exchanges, _gathers, _scatters):
        found = list(finder(traffic, comm, ranks, pairs))
        explained = sum(len(instance.messages) for instance in found)
        everything = len({message for each in members for message in each.messages})
        if explained >= EXPLAINED * everything:
            return found
    return []


def _exchanges(
    traffic: Traffic, comm: int, ranks: tuple[int, ...], pairs: dict[Pair, list[Delivery]]
) -> Iterator[Instance]:
    groups = components(pairs)
    if not partition(groups, ranks):
        return
    for group in groups:
        wanted = [(left, right) for left in group for right in group if left != right]
        if len(group) < SMALLEST_GROUP or any(pair not in pairs for pair in wanted):
            continue
        for number in range(min(len(pairs[pair]) for pair in wanted)):
            blocks = [pairs[pair][number] for pair in wanted]
            kinds = _both_sides(blocks, group)
            if kinds is not None:
                yield _exchange(traffic, comm, group, blocks, kinds)


def _both_sides(blocks: Sequence[Delivery], group: tuple[int, ...]) -> list[Layout] | None:
    """How blocks lie at senders and at receivers, the worst of each; None: on neither side as an
    array."""
    worst: list[Layout] = []
    for side in ("from", "to"):
        kinds = set()
        for rank in group:
            if side == "from":
                lie = {b.keeper: (b.from_address, b.bytes) for b in blocks if b.origin == rank}
                gaps = max(block.from_gaps for block in blocks)
            else:
                lie = {b.origin: (b.to_address, b.bytes) for b in blocks if b.keeper == rank}
                gaps = max(block.to_gaps for block in blocks)
            kinds.add(layout(lie, group, rank, gaps))
        order: tuple[Layout, ...] = ("overlapping", "apart", "order", "regular", "array")
        worst.append(next(kind for kind in order if kind in kinds))
    return worst if set(worst) & {"array", "regular", "order"} else None


def _exchange(
    traffic: Traffic,
    comm: int,
    group: tuple[int, ...],
    blocks: Sequence[Delivery],
    kinds: Sequence[Layout],
) -> Instance:
    sizes = {block.bytes for block in blocks}
    numeric = traffic.element[_first(blocks[0])] not in (0, 14, 15)
    summed = kinds[1] == "overlapping" and kinds[0] == "array" and numeric
    return Instance(
        "reduce_scatter" if summed else "alltoall",
        comm,
        group,
        in_order({message for block in blocks for message in block.messages}),
        sum(block.bytes for block in blocks) if len(sizes) > 1 else blocks[0].bytes,
        irregular=len(sizes) > 1,
        evidence="assumed" if summed else "proved",
        remarks=("blocks are received into one place: summed, presumably",) if summed else (),
    )


def _gathers(
    traffic: Traffic, comm: int, ranks: tuple[int, ...], pairs: dict[Pair, list[Delivery]]
) -> Iterator[Instance]:
    by_root: dict[int, dict[int, list[Delivery]]] = defaultdict(dict)
    for (origin, keeper), listed in pairs.items():
        by_root[keeper][origin] = listed
    yield from _rooted("gather", traffic, comm, ranks, by_root)


def _scatters(
    traffic: Traffic, comm: int, ranks: tuple[int, ...], pairs: dict[Pair, list[Delivery]]
) -> Iterator[Instance]:
    by_root: dict[int, dict[int, list[Delivery]]] = defaultdict(dict)
    for (origin, keeper), listed in pairs.items():
        by_root[origin][keeper] = listed
    yield from _rooted("scatter", traffic, comm, ranks, by_root)


def _rooted(
    name: str,
    traffic: Traffic,
    comm: int,
    ranks: tuple[int, ...],
    by_root: dict[int, dict[int, list[Delivery]]],
) -> Iterator[Instance]:
    groups = [tuple(sorted({root, *others})) for root, others in by_root.items()]
    rows = partition(sorted(set(groups)), ranks)
    for (root, others), group in zip(by_root.items(), groups, strict=True):
        missing = tuple(sorted(set(ranks) - set(group)))
        nearly = len(group) >= max(SMALLEST_GROUP + 1, LEAST_COVERAGE * len(ranks))
        if len(group) < SMALLEST_GROUP or (missing and not rows and not nearly):
            continue
        for number in range(min(len(listed) for listed in others.values())):
            blocks = {rank: listed[number] for rank, listed in others.items()}
            kind = _root_side(name, blocks, group, root)
            if kind is None or (kind == "apart" and (missing or len(group) < 4)):
                continue
            yield _rooted_instance(name, comm, (group, root), blocks, kind, missing, rows)


def _root_side(
    name: str, blocks: dict[int, Delivery], group: tuple[int, ...], root: int
) -> Layout | None:
    if name == "scatter":
        lie = {rank: (block.from_address, block.bytes) for rank, block in blocks.items()}
        gaps = max(block.from_gaps for block in blocks.values())
    else:
        lie = {rank: (block.to_address, block.bytes) for rank, block in blocks.items()}
        gaps = max(block.to_gaps for block in blocks.values())
    kind = layout(lie, group, root, gaps)
    return None if kind == "overlapping" else kind


def _rooted_instance(
    name: str,
    comm: int,
    where: tuple[tuple[int, ...], int],
    blocks: dict[int, Delivery],
    kind: Layout,
    missing: tuple[int, ...],
    rows: bool,
) -> Instance:
    group, root = where
    sizes = {block.bytes for block in blocks.values()}
    irregular = len(sizes) > 1 or kind == "order"
    remarks = ("the root has its blocks in places of their own, not in one array",)
    return Instance(
        name,
        comm,
        group,
        in_order({message for block in blocks.values() for message in block.messages}),
        sum(block.bytes for block in blocks.values()) if irregular else next(iter(sizes)),
        (root,),
        irregular=irregular,
        missing=() if rows else missing,
        remarks=remarks if kind == "apart" else (),
    )
