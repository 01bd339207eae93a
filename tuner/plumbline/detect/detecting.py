"""From a recording to all instances of collectives that were made by hand in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.atoms import Atoms, atoms
from plumbline.detect.barriers import SIGNAL, barriers
from plumbline.detect.bruck import alltoalls
from plumbline.detect.columns import Indices, Mask
from plumbline.detect.composites import composed
from plumbline.detect.doubts import believed
from plumbline.detect.instances import Instance, messages_of
from plumbline.detect.personal import EXPLAINED, deliveries, personal
from plumbline.detect.provenance import Provenance, provenance
from plumbline.detect.recording import Recording
from plumbline.detect.reductions import reductions
from plumbline.detect.spread import (
    Spreads,
    allgathers,
    broadcasts,
    complete,
    passing,
    spreads,
)
from plumbline.detect.subgroups import nearly, of_groups
from plumbline.detect.traffic import Traffic, traffic


class Detected(msgspec.Struct, frozen=True, eq=False):
    """`instances` in the order in which they began; incomplete ones have `missing`."""

    traffic: Traffic
    instances: list[Instance]
    unclaimed: list[int]


def detect(recording: Recording) -> Detected:
    """Each message is claimed by one instance at most, but where collectives are nested."""
    state = _Detecting(traffic(recording))
    state.add(barriers(state.traffic, state.unclaimed()))
    # The larger one of two values is handed on as it is: that is no broadcast by who had it.
    state.add(reductions(state.traffic, state.unclaimed(), surely=True))
    found = provenance(state.traffic, state.claimed)
    cut = atoms(state.traffic, found)
    news = np.flatnonzero(found.items.common[cut.item] == 0)
    full, partial = complete(state.traffic, cut, news)
    left = _gathered(state, found, cut, full)
    passed = passing(found, left)
    delivered = deliveries(
        state.traffic, found, cut, state.free(cut, np.concatenate([partial, passed]))
    )
    direct = personal(state.traffic, delivered)
    state.add(instance for instance in direct if not instance.missing)
    left = left.picked(state.not_wholly_claimed(left))
    state.add(_broadcasts(state, found, left, partial))
    grouped, others = of_groups(state.traffic, cut, state.free(cut, partial))
    state.add(_broadcasts(state, found, _gathered(state, found, cut, grouped), others))
    state.add(reductions(state.traffic, state.unclaimed()))
    state.add(alltoalls(state.traffic, state.unclaimed()))
    state.settle(believed(state.traffic, composed(state.traffic, state.found)))
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
        """These in the place of all others."""
        self.found = []
        self.claimed[:] = False
        self.add(instances)

    def free(self, cut: Atoms, which: Indices) -> Indices:
        """Atoms none of whose messages is claimed."""
        return which[~cut.messages.picked(which).with_any(self.claimed)]

    def not_wholly_claimed(self, found: Spreads) -> Indices:
        return np.flatnonzero(found.messages.with_any(~self.claimed))

    def unclaimed(self) -> Indices:
        return np.flatnonzero(~self.claimed)


def _gathered(state: _Detecting, found: Provenance, cut: Atoms, which: Indices) -> Spreads:
    """Allgathers are added; spreads of other atoms are returned. What belongs to a rotation is
    claimed by nobody else."""
    gathered, left, turned = allgathers(state.traffic, spreads(state.traffic, found, cut, which))
    state.add(gathered)
    state.claimed[turned.messages.at] = True
    return left


def _broadcasts(
    state: _Detecting, found: Provenance, spreads: Spreads, partial: Indices
) -> list[Instance]:
    spreads = spreads.picked(np.flatnonzero(~_is_exchanged(state.traffic, found, spreads)))
    if not len(spreads):
        return []
    again = _again(state.traffic, found, spreads, partial)
    answered = _is_answered(state.traffic, found, spreads).tolist()
    instances = broadcasts(state.traffic, spreads, again)
    kept = [
        None if is_answered else instance
        for instance, is_answered in zip(instances, answered, strict=True)
    ]
    nothing = np.array([instance is None for instance in kept], bool)
    # What was taken together and takes long may have had something else in it.
    together = np.flatnonzero(nothing & ~spreads.is_one)
    alone = broadcasts(state.traffic, spreads.apart(together), {})
    short = spreads.only(together, np.array([each is not None for each in alone], bool))
    kept += broadcasts(state.traffic, short, {}, patient=True)
    state.claimed[spreads.messages.picked(np.flatnonzero(nothing)).at] = True
    return [instance for instance in kept if instance is not None]


def _is_exchanged(traffic: Traffic, found: Provenance, spreads: Spreads) -> Mask:
    """Whether it is the one side of an exchange, which others send to the origin meanwhile; or went
    on beside something else that goes nowhere."""
    messages = spreads.messages
    elsewhere = traffic.source[messages.at] != np.repeat(spreads.origin, messages.lengths)
    sent_on = np.bincount(messages.owners[elsewhere], minlength=len(spreads)) > 0
    met = 2 * messages.sums(traffic.crossed) > messages.lengths
    return np.asarray((met & ~sent_on) | messages.with_any(found.is_mixed(traffic)))


def _is_answered(traffic: Traffic, found: Provenance, spreads: Spreads) -> Mask:
    """Whether more than half of its messages were answered at once, by as much of the receiver's
    own: pairs of ranks that play ping-pong. The same content sent to one partner after the other in
    this way is no broadcast."""
    # 1 of messages after which their sender's next thing of their communicator, tag and kind is to
    # receive from their receiver what that one has by himself.
    answered = core.call("pl_answered_at_once", traffic.passed, found.all_own(traffic))[0]
    return np.asarray(2 * spreads.messages.sums(answered) > spreads.messages.lengths)


def _again(
    traffic: Traffic, found: Provenance, spreads: Spreads, partial: Indices
) -> dict[int, list[int]]:
    """Messages that carried the content of a spread of one atom besides: they set out from a rank
    that had it already, or that had it by itself. Where a content is short, which is met anywhere,
    those with another tag do not belong to it."""
    cut, ones = spreads.all_atoms, np.flatnonzero(spreads.is_one)
    spreads_of: dict[int, list[int]] = defaultdict(list)
    for at, item in zip(ones.tolist(), cut.item[spreads.first_atom[ones]].tolist(), strict=True):
        spreads_of[item].append(at)
    again = _of_items(found, cut, spreads_of, partial)
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
    found: Provenance, cut: Atoms, wanted: Iterable[int], partial: Indices
) -> dict[int, list[int]]:
    """Atoms with the content of each wanted item besides it: of the item that its origin had
    before, of those that its origin had behind it, and of those that other ranks had."""
    items = found.items
    is_wanted = np.zeros(len(items), bool)
    is_wanted[list(wanted)] = True
    linked: dict[int, set[int]] = defaultdict(set)
    for left, right in found.meets:
        linked[left].add(right)
        linked[right].add(left)
    item, earlier = cut.item[partial], items.again_of[cut.item[partial]]
    follows = (earlier >= 0) & is_wanted[earlier]
    near = np.zeros(len(items), bool)
    near[list(linked)] = True
    atoms_of: dict[int, list[int]] = defaultdict(list)
    for at in np.flatnonzero(follows | near[item]).tolist():
        others = {*linked[int(item[at])], int(earlier[at])}
        named = next((other for other in others if other >= 0 and is_wanted[other]), -1)
        if named >= 0:
            atoms_of[named].append(int(partial[at]))
    before = {int(items.again_of[each]): each for each in wanted if items.again_of[each] >= 0}
    is_before = np.zeros(len(items), bool)
    is_before[list(before)] = True
    by_item: dict[int, list[int]] = defaultdict(list)
    for at in np.flatnonzero(is_before[item]).tolist():
        by_item[int(item[at])].append(int(partial[at]))
    for each in wanted:
        earlier_ones = by_item.get(int(items.again_of[each]))
        if earlier_ones:
            atoms_of[each] += earlier_ones
    return atoms_of


def _incomplete(
    state: _Detecting, direct: Sequence[Instance], cut: Atoms, others: Indices
) -> list[Instance]:
    instances = [
        instance
        for instance in direct
        if instance.missing and not state.claimed[list(instance.messages)].any()
    ]
    for atom, missing in nearly(state.traffic, cut, state.free(cut, others)):
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
    """Those from functions where few ranks are the root, and most of what their call sites send:
    else ranks have many neighbours."""
    by_function: dict[tuple[int, int], list[Instance]] = defaultdict(list)
    for instance in incomplete:
        by_function[instance.comm, int(traffic.functions[instance.messages[0]])].append(instance)
    for (comm, _), instances in by_function.items():
        messages = np.unique(messages_of(instances))
        here = np.isin(traffic.send_site, np.unique(traffic.send_site[messages]))
        there = int((here & (traffic.comm == comm)).sum())
        roots = {root for instance in instances for root in instance.roots}
        ranks = traffic.recording.communicators[comm].size
        if 2 * len(roots) <= ranks and len(messages) >= EXPLAINED * there:
            yield from instances
