"""The way from a recording to all instances of collectives that were made by hand in it.

A broadcast may reach a part of a communicator: the rows and columns of a grid, and groups that come
again; a few ranks that once had the same content are no group. In reductions contents of one size
are combined on their way, and everybody's contribution must come in once. A rank's own operand is
mostly never sent: then the operator is assumed, not proved. In a reduce-scatter on a ring each
block goes once around, and every rank adds its term to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core, operators
from plumbline.detect.core import Indices, Mask, Rows, numbered, rows
from plumbline.detect.kinds import Element
from plumbline.detect.operators import ENOUGH, Combined, assumed, halving, mutual, rooted
from plumbline.detect.personal import EXPLAINED, LARGE, alltoalls, deliveries, personal
from plumbline.detect.provenance import (
    SIGNAL,
    Atoms,
    MessageClass,
    Provenance,
    Spreads,
    allgathers,
    atoms,
    barriers,
    broadcasts,
    complete,
    passing,
    provenance,
    spreads,
)
from plumbline.detect.recording import PAYLOAD, Recording
from plumbline.detect.traffic import (
    SMALLEST_GROUP,
    WAYS,
    ClassSearch,
    Instance,
    Shared,
    Traffic,
    classes_of,
    in_classes,
    in_order,
    last_received,
    messages_of,
    partition,
    traffic,
)

# At least this share of what a source line sends must belong to collectives if they look like
# something else; the second value is for few ranks.
_BELIEVED, _HARDLY_ANY = 2 / 3, 0.05

_OF_CONTACTS = frozenset({"alltoall", "allgather", "barrier"})


def believed(traffic: Traffic, instances: Sequence[Instance]) -> list[Instance]:
    """On few ranks all others are contacts: what each rank tells all others is no collective where
    it comes from a line that mostly tells some of them. What is handed on of objects, whose values
    nobody knows, may be the larger one of two: it is no broadcast where it comes from a line that
    mostly sends, with the same tag, what is not handed on."""
    believed_instances = list(instances)
    while believed_instances:
        doubted = _doubted(traffic, believed_instances)
        if not doubted:
            break
        believed_instances = [
            instance for at, instance in enumerate(believed_instances) if at not in doubted
        ]
    return believed_instances


def _doubted(traffic: Traffic, instances: Sequence[Instance]) -> set[int]:
    messages, lines = rows(instance.messages for instance in instances), traffic.lines
    claimed = np.zeros(len(traffic), bool)
    claimed[messages.at] = True

    def explained(number: Indices) -> npt.NDArray[np.float64]:
        """Return by instance: how much of what its lines send. Where these are not known, all of
        it."""
        share = np.bincount(number, claimed) / np.bincount(number)
        of_message = np.where(lines < 0, 1.0, share[number])[messages.at]
        return np.asarray(np.add.reduceat(of_message, messages.first[:-1]) / messages.lengths)

    of_line = explained(numbered(lines, np.zeros_like(lines)))
    of_tag = explained(numbered(lines, traffic.tag))
    return {
        at
        for at in np.flatnonzero(np.minimum(of_line, of_tag) < _BELIEVED).tolist()
        if of_line[at] < _least_of_line(traffic, instances[at])
        or (of_tag[at] < _BELIEVED and _is_of_objects(traffic, instances[at]))
    }


def _least_of_line(traffic: Traffic, instance: Instance) -> float:
    if len(instance.group) >= LARGE:
        return 0.0
    linear = instance.collective == "bcast" and not _is_handed_on(traffic, instance)
    return _BELIEVED if linear or instance.collective in _OF_CONTACTS else _HARDLY_ANY


def _is_of_objects(traffic: Traffic, instance: Instance) -> bool:
    return (
        instance.collective == "bcast"
        and instance.bytes <= PAYLOAD
        and int(traffic.element[instance.messages[0]]) not in operators.NUMERIC
        and _is_handed_on(traffic, instance)
    )


def _is_handed_on(traffic: Traffic, instance: Instance) -> bool:
    sources = traffic.source[list(instance.messages)]
    return bool((sources != sources[0]).any())


# Collectives that follow each other and are one: a reduce and the broadcast of its result, a
# reduce-scatter and the allgather of its blocks, a gather and the broadcast of all of it.

# So many instances of a group may lie between two halves.
_NEAR = 3

_RESULTS = {
    ("reduce", "bcast"): "allreduce",
    ("reduce_scatter", "allgather"): "allreduce",
    ("reduce", "scatter"): "reduce_scatter",
}
_FIRST_HALVES = frozenset(half for half, _ in _RESULTS)
_SECOND_HALVES = frozenset(right for _, right in _RESULTS)


def _composed(traffic: Traffic, instances: Sequence[Instance]) -> list[Instance]:
    """Instances, with pairs in the place of their two halves. A second half goes with the first
    half that came last on its group."""
    by_group: dict[tuple[int, tuple[int, ...]], list[Instance]] = defaultdict(list)
    for instance in instances:
        by_group[instance.comm, instance.group].append(instance)
    composed_instances: list[Instance] = []
    for listed in by_group.values():
        if not any(instance.collective in _FIRST_HALVES for instance in listed):
            composed_instances += listed
            continue
        listed.sort(key=_first)
        used: set[int] = set()
        for at, second in enumerate(listed):
            if second.collective not in _SECOND_HALVES:
                continue
            first = _first_half(traffic, listed, at, used)
            if first is not None:
                used |= {first, at}
                composed_instances.append(_both(listed[first], second))
        composed_instances += [instance for at, instance in enumerate(listed) if at not in used]
    composed_instances = [
        instance for instance in composed_instances if instance.evidence != "weak"
    ]
    composed_instances.sort(key=_first)
    return composed_instances


def _first(instance: Instance) -> int:
    return instance.messages[0]


def _first_half(
    traffic: Traffic, listed: Sequence[Instance], at: int, used: set[int]
) -> int | None:
    """The last one before that goes with it."""
    later = listed[at]
    for number in range(at - 1, max(at - _NEAR, 0) - 1, -1):
        earlier = listed[number]
        fits = (earlier.collective, later.collective) in _RESULTS
        if number not in used and fits and _follows(traffic, earlier, later):
            return number
    return None


def _follows(traffic: Traffic, first: Instance, second: Instance) -> bool:
    if first.collective == "reduce":
        root = first.roots[0]
        if root not in second.roots:
            return False
        got = max(traffic.received[m] for m in first.messages if traffic.target[m] == root)
        gave = min(traffic.sent[m] for m in second.messages if traffic.source[m] == root)
        sizes = first.bytes == second.bytes if second.collective == "bcast" else True
        return sizes and got < gave
    return second.bytes == first.bytes and last_received(traffic, second) > last_received(
        traffic, first
    )


def _both(first: Instance, second: Instance) -> Instance:
    name = _RESULTS[first.collective, second.collective]
    nbytes = first.bytes if first.collective == "reduce" else first.bytes * len(first.group)
    return Instance(
        name,
        first.comm,
        first.group,
        in_order({*first.messages, *second.messages}),
        second.bytes if name == "reduce_scatter" else nbytes,
        irregular=False,
        operation=first.operation,
        evidence="proved" if first.evidence == "proved" else "assumed",
    )


_IS_NUMERIC = np.array([element in operators.NUMERIC for element in Element])

_WAYS = (
    *(Shared.KIND | Shared.SITE, Shared.KIND | Shared.TAG, Shared.KIND),
    *(Shared.SITE, Shared.TAG),
)
# The share of a group that is neither a row nor a column.
_OFTEN = 3
_LARGE = 4
# An incomplete broadcast must have reached at least this share of the communicator's ranks.
_LEAST_COVERAGE = 0.75


class Detected(msgspec.Struct, frozen=True, eq=False):
    """`instances` in the order in which they began; incomplete ones have `missing`."""

    traffic: Traffic
    instances: list[Instance]
    unclaimed: list[int]


def detect(recording: Recording) -> Detected:
    """Each message is claimed by one instance at most, but where collectives are nested."""
    state = _Detecting(traffic(recording))
    state.add(barriers(state.traffic, state.unclaimed()))
    # A maximum hands on one of two values unchanged, which must not be taken for a broadcast.
    state.add(_reductions(state.traffic, state.unclaimed(), surely=True))
    origins = provenance(state.traffic, state.claimed)
    cut = atoms(state.traffic, origins)
    news = np.flatnonzero(origins.items.common[cut.item] == 0)
    full, partial = complete(state.traffic, cut, news)
    ungathered = _gathered(state, origins, cut, full)
    passed = passing(origins, ungathered)
    delivered = deliveries(
        state.traffic, origins, cut, state.free(cut, np.concatenate([partial, passed]))
    )
    direct = personal(state.traffic, delivered)
    state.add(instance for instance in direct if not instance.missing)
    ungathered = ungathered.picked(state.not_wholly_claimed(ungathered))
    state.add(_broadcasts(state, origins, ungathered, partial))
    grouped, others = _of_groups(state.traffic, cut, state.free(cut, partial))
    state.add(_broadcasts(state, origins, _gathered(state, origins, cut, grouped), others))
    state.add(_reductions(state.traffic, state.unclaimed()))
    state.add(alltoalls(state.traffic, state.unclaimed()))
    state.settle(believed(state.traffic, _composed(state.traffic, state.found)))
    state.add(_incomplete(state, direct, cut, others))
    state.found.sort(key=lambda instance: instance.messages[0])
    return Detected(state.traffic, state.found, state.unclaimed().tolist())


class _Detecting:
    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.found: list[Instance] = []
        self.claimed = np.zeros(len(traffic), bool)

    def add(self, instances: Iterable[Instance]) -> None:
        new = list(instances)
        self.found += new
        self.claimed[messages_of(new)] = True

    def settle(self, instances: Iterable[Instance]) -> None:
        """Take these in the place of all others."""
        self.found = []
        self.claimed[:] = False
        self.add(instances)

    def free(self, cut: Atoms, which: Indices) -> Indices:
        """Atoms none of whose messages is claimed."""
        return which[~cut.messages.picked(which).with_any(self.claimed)]

    def not_wholly_claimed(self, wanted_spreads: Spreads) -> Indices:
        return np.flatnonzero(wanted_spreads.messages.with_any(~self.claimed))

    def unclaimed(self) -> Indices:
        return np.flatnonzero(~self.claimed)


def _gathered(state: _Detecting, origins: Provenance, cut: Atoms, which: Indices) -> Spreads:
    """Allgathers are added; spreads of other atoms are returned. What belongs to a rotation is
    claimed by nobody else."""
    gathered, ungathered, turned = allgathers(
        state.traffic, spreads(state.traffic, origins, cut, which)
    )
    state.add(gathered)
    state.claimed[turned.messages.at] = True
    return ungathered


def _broadcasts(
    state: _Detecting, origins: Provenance, spreads: Spreads, partial: Indices
) -> list[Instance]:
    spreads = spreads.picked(np.flatnonzero(~_is_exchanged(state.traffic, origins, spreads)))
    if not len(spreads):
        return []
    again = _again(state.traffic, origins, spreads, partial)
    answered = _is_answered(state.traffic, origins, spreads).tolist()
    instances = broadcasts(state.traffic, spreads, again)
    kept = [
        None if is_answered else instance
        for instance, is_answered in zip(instances, answered, strict=True)
    ]
    nothing = np.array([instance is None for instance in kept], bool)
    # A spread that was joined from several and takes long may contain unrelated messages.
    together = np.flatnonzero(nothing & ~spreads.is_one)
    alone = broadcasts(state.traffic, spreads.apart(together), {})
    short = spreads.only(together, np.array([broadcast is not None for broadcast in alone], bool))
    kept += broadcasts(state.traffic, short, {}, patient=True)
    state.claimed[spreads.messages.picked(np.flatnonzero(nothing)).at] = True
    return [instance for instance in kept if instance is not None]


def _is_exchanged(traffic: Traffic, origins: Provenance, spreads: Spreads) -> Mask:
    """Return whether it is the one side of an exchange, which others send to the origin meanwhile;
    or went on beside something else that goes nowhere."""
    messages = spreads.messages
    elsewhere = traffic.source[messages.at] != np.repeat(spreads.origin, messages.lengths)
    sent_on = np.bincount(messages.owners[elsewhere], minlength=len(spreads)) > 0
    met = 2 * messages.sums(traffic.crossed) > messages.lengths
    return np.asarray((met & ~sent_on) | messages.with_any(origins.is_mixed(traffic)))


def _is_answered(traffic: Traffic, origins: Provenance, spreads: Spreads) -> Mask:
    """Return whether more than half of its messages were answered at once, by as much of the
    receiver's own: pairs of ranks that play ping-pong. The same content sent to one partner after
    the other in this way is no broadcast."""
    # 1 for each message after which its sender's next event (same communicator, tag and kind)
    # receives from the receiver something that is the receiver's own.
    answered = core.call("pl_answered_at_once", traffic.passed, origins.all_own(traffic))[0]
    return np.asarray(2 * spreads.messages.sums(answered) > spreads.messages.lengths)


def _again(
    traffic: Traffic, origins: Provenance, spreads: Spreads, partial: Indices
) -> dict[int, list[int]]:
    """Messages that carried the content of a spread of one atom besides: they set out from a rank
    that had it already, or that had it by itself. Where a content is short, which is met anywhere,
    those with another tag do not belong to it."""
    cut, single = spreads.all_atoms, np.flatnonzero(spreads.is_one)
    spreads_of: dict[int, list[int]] = defaultdict(list)
    for at, item in zip(
        single.tolist(), cut.item[spreads.first_atom[single]].tolist(), strict=True
    ):
        spreads_of[item].append(at)
    again = _of_items(origins, cut, spreads_of, partial)
    sizes = spreads.bytes
    more: dict[int, list[int]] = {}
    for item, atoms_of_item in again.items():
        carried = np.unique(cut.messages.picked(np.array(atoms_of_item)).at)
        for at in spreads_of[item]:
            own = traffic.tag[spreads.messages[at]]
            fits = (sizes[at] > SIGNAL) | np.isin(traffic.tag[carried], own)
            more[at] = carried[fits].tolist()
    return more


def _of_items(
    origins: Provenance, cut: Atoms, items_asked: Iterable[int], partial: Indices
) -> dict[int, list[int]]:
    """Atoms with the content of each wanted item besides it: of the item that its origin had
    before, of those that its origin had behind it, and of those that other ranks had."""
    items = origins.items
    is_wanted = np.zeros(len(items), bool)
    is_wanted[list(items_asked)] = True
    linked: dict[int, set[int]] = defaultdict(set)
    for first, second in origins.meets:
        linked[first].add(second)
        linked[second].add(first)
    item, earlier = cut.item[partial], items.again_of[cut.item[partial]]
    follows = (earlier >= 0) & is_wanted[earlier]
    near = np.zeros(len(items), bool)
    near[list(linked)] = True
    atoms_of: dict[int, list[int]] = defaultdict(list)
    for at in np.flatnonzero(follows | near[item]).tolist():
        others = {*linked[int(item[at])], int(earlier[at])}
        named = next(
            (linked_item for linked_item in others if linked_item >= 0 and is_wanted[linked_item]),
            -1,
        )
        if named >= 0:
            atoms_of[named].append(int(partial[at]))
    before = {
        int(items.again_of[later]): later for later in items_asked if items.again_of[later] >= 0
    }
    is_before = np.zeros(len(items), bool)
    is_before[list(before)] = True
    by_item: dict[int, list[int]] = defaultdict(list)
    for at in np.flatnonzero(is_before[item]).tolist():
        by_item[int(item[at])].append(int(partial[at]))
    for wanted_item in items_asked:
        earlier_ones = by_item.get(int(items.again_of[wanted_item]))
        if earlier_ones:
            atoms_of[wanted_item] += earlier_ones
    return atoms_of


def _incomplete(
    state: _Detecting, direct: Sequence[Instance], cut: Atoms, others: Indices
) -> list[Instance]:
    instances = [
        instance
        for instance in direct
        if instance.missing and not state.claimed[list(instance.messages)].any()
    ]
    for atom, missing in _nearly(state.traffic, cut, state.free(cut, others)):
        if state.traffic.crossed[cut.messages[atom]].mean() > 0.5:
            continue
        instances.append(
            Instance(
                "bcast",
                int(state.traffic.comm[cut.first_message[atom]]),
                cut.members[int(cut.group[atom])],
                tuple(cut.messages[atom].tolist()),
                int(cut.high[atom] - cut.low[atom]),
                (int(cut.origin[atom]),),
                missing=missing,
            )
        )
    return list(_believed(state.traffic, instances))


def _believed(traffic: Traffic, incomplete: Iterable[Instance]) -> Iterator[Instance]:
    """Return the instances from functions where few ranks are the root and which are most of what
    their call sites send. Otherwise ranks have many neighbours."""
    by_function: dict[tuple[int, int], list[Instance]] = defaultdict(list)
    for instance in incomplete:
        by_function[instance.comm, int(traffic.functions[instance.messages[0]])].append(instance)
    for (comm, _), instances in by_function.items():
        messages = np.unique(messages_of(instances))
        same_sites = np.isin(traffic.send_site, np.unique(traffic.send_site[messages]))
        sent_there = int((same_sites & (traffic.comm == comm)).sum())
        roots = {root for instance in instances for root in instance.roots}
        ranks = traffic.recording.communicators[comm].size
        if 2 * len(roots) <= ranks and len(messages) >= EXPLAINED * sent_there:
            yield from instances


def _reductions(traffic: Traffic, messages: Indices, *, surely: bool = False) -> list[Instance]:
    """Reductions to a root, to all, and along a chain. `surely`: only those of which contents
    prove the operator, or speak for it where it hands on values as they are."""
    numbers = messages[(traffic.bytes[messages] > 0) & _IS_NUMERIC[traffic.element[messages]]]
    search = ClassSearch.SURE_REDUCTIONS if surely else ClassSearch.REDUCTIONS
    return in_classes(traffic, numbers, _WAYS, search, partial(_of_group, traffic, surely))


def _of_group(
    traffic: Traffic, surely: bool, comm: int, group: tuple[int, ...], messages: Indices
) -> list[Instance]:
    which = MessageClass(traffic, comm, group, messages)
    kinds = traffic.kind[messages]
    if (kinds == kinds[0]).all():
        return _surely(which) if surely else rooted(which) or mutual(which) or _rings(which)
    return halving(which)


def _surely(which: MessageClass) -> list[Instance]:
    new = rooted(which, surely=True)
    if not new:
        new = [instance for instance in mutual(which) if instance.operation]
    return [instance for instance in new if instance.evidence != "weak"]


def _rings(which: MessageClass) -> list[Instance]:
    """Return the rings of messages of one size: each rank sends to one other, which is a ring, and
    once less than there are ranks. Weak, where contents do not say that terms were added."""
    traffic, group, messages = which.traffic, which.group, which.messages
    steps, size = len(group) - 1, len(group)
    if size < SMALLEST_GROUP or len(messages) % (size * steps):
        return []
    following = _following(which)
    if following is None:
        return []
    place = np.zeros(traffic.nprocs, np.int64)
    place[list(group)] = np.arange(size)
    order = np.argsort(place[traffic.source[messages]], kind="stable")
    # Indices by the rank's place, time and step.
    turns: Indices = messages[order].reshape(size, -1, steps)
    senders = traffic.source[turns]
    if (senders != np.array(group)[:, None, None]).any():
        return []
    operands, made = turns[:, :, :-1].ravel(), turns[following][:, :, 1:].ravel()
    combined = Combined(made, Rows(np.arange(len(made) + 1), operands))
    operation = assumed(traffic, turns[:, :, 0].ravel(), combined)
    if operation is None or (traffic.received[operands] >= traffic.sent[made]).any():
        return []
    return [
        Instance(
            "reduce_scatter",
            which.comm,
            group,
            in_order(turns[:, time].ravel().tolist()),
            int(traffic.bytes[messages[0]]),
            operation=operation.name,
            evidence="assumed" if operation.bits >= ENOUGH else "weak",
        )
        for time in range(turns.shape[1])
    ]


def _following(which: MessageClass) -> Indices | None:
    """Return by place in the group: the place of the one rank that it sends to; None: they are no
    ring."""
    traffic, group, messages = which.traffic, which.group, which.messages
    target = np.full(traffic.nprocs, -1, np.int64)
    target[traffic.source[messages]] = traffic.target[messages]
    if (target[traffic.source[messages]] != traffic.target[messages]).any():
        return None
    place = {rank: at for at, rank in enumerate(group)}
    following = [place.get(int(target[rank]), -1) for rank in group]
    if min(following) < 0 or len(set(following)) < len(group) or not _is_one_round(following):
        return None
    return np.array(following, np.int64)


def _is_one_round(following: list[int]) -> bool:
    """Return whether a permutation passes all before it comes back to the first."""
    at, length = following[0], 1
    while at:
        at, length = following[at], length + 1
    return length == len(following)


def _of_groups(traffic: Traffic, atoms: Atoms, which: Indices) -> tuple[Indices, Indices]:
    """Atoms that reached a group of their communicator, and the others."""
    reached_groups: list[Indices] = []
    unreached = which[_reached(atoms, which) >= SMALLEST_GROUP]
    for shared in WAYS:
        rows = classes_of(traffic, atoms.first_message[unreached], shared)
        rest: list[Indices] = []
        for row in range(len(rows)):
            members = unreached[rows[row]]
            comm = int(traffic.comm[atoms.first_message[members[0]]])
            ranks = traffic.recording.communicators[comm].ranks
            (reached_groups if _is_class(atoms, members, ranks) else rest).append(members)
        unreached = _joined(rest)
    return _joined(reached_groups), unreached


def _joined(listed: list[Indices]) -> Indices:
    return np.concatenate(listed) if listed else np.zeros(0, np.int64)


def _reached(atoms: Atoms, which: Indices) -> Indices:
    """Return by atom: how many ranks have it."""
    return atoms.sizes[atoms.group[which]]


def _is_class(atoms: Atoms, members: Indices, ranks: Sequence[int]) -> bool:
    """Return whether the groups of a class are a partition, or apart from each other and used
    often."""
    numbers, times = np.unique(atoms.group[members], return_counts=True)
    groups = [atoms.members[number] for number in numbers.tolist()]
    if partition(groups, ranks):
        return True
    listed = [rank for group in groups for rank in group]
    apart = len(listed) == len(set(listed))
    return apart and all(
        len(group) >= _LARGE and count >= _OFTEN and len(group) <= len(ranks) / 2
        for group, count in zip(groups, times.tolist(), strict=True)
    )


def _nearly(traffic: Traffic, atoms: Atoms, which: Indices) -> list[tuple[int, tuple[int, ...]]]:
    """Atoms that reached nearly all ranks of their communicator, and those that they missed."""
    comms = traffic.comm[atoms.first_message[which]]
    sizes = np.array([comm.size for comm in traffic.recording.communicators], np.int64)
    reached = _reached(atoms, which)
    some = (reached > SMALLEST_GROUP) & (reached >= _LEAST_COVERAGE * sizes[comms])
    nearly_reached = []
    for atom, comm in zip(which[some].tolist(), comms[some].tolist(), strict=True):
        ranks = set(traffic.recording.communicators[comm].ranks)
        nearly_reached.append(
            (atom, tuple(sorted(ranks - set(atoms.members[int(atoms.group[atom])]))))
        )
    return nearly_reached
