"""From a recording to all instances of collectives that were made by hand in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from plumbline.detect.answers import Answers
from plumbline.detect.atoms import Atom, atoms
from plumbline.detect.barriers import SIGNAL, barriers
from plumbline.detect.composites import composed
from plumbline.detect.instances import Instance, first_sent, in_order
from plumbline.detect.personal import deliveries, personal
from plumbline.detect.phased import Memo
from plumbline.detect.provenance import Provenance, provenance
from plumbline.detect.recording import Recording
from plumbline.detect.reductions import reductions
from plumbline.detect.spread import (
    Spread,
    allgathers,
    broadcast,
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
    memo: Memo = {}
    state.add(barriers(state.traffic, range(len(state.traffic))))
    # The larger one of two values is handed on as it is: that is no broadcast by who had it.
    state.add(reductions(state.traffic, state.unclaimed(), memo, surely=True))
    found = provenance(state.traffic, state.claimed)
    news = [atom for atom in atoms(state.traffic, found) if atom.item not in found.common]
    full, partial = complete(state.traffic, news)
    left = _gathered(state, found, full)
    passed = [spread.atoms[0] for spread in left if passing(found, spread)]
    direct = personal(
        state.traffic, deliveries(state.traffic, found, state.free([*partial, *passed]))
    )
    state.add(instance for instance in direct if not instance.missing)
    left = [spread for spread in left if not state.claimed.issuperset(spread.messages)]
    state.add(_broadcasts(state, found, left, partial))
    grouped, others = of_groups(state.traffic, state.free(partial))
    state.add(_broadcasts(state, found, _gathered(state, found, grouped), others))
    state.add(reductions(state.traffic, state.unclaimed(), memo))
    state.found = composed(state.traffic, state.found)
    state.claimed = {message for each in state.found for message in each.messages}
    state.add(_incomplete(state, direct, others))
    state.found.sort(key=lambda instance: first_sent(state.traffic, instance))
    return Detected(state.traffic, state.found, state.unclaimed())


class _Detecting:
    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.found: list[Instance] = []
        self.claimed: set[int] = set()

    def add(self, instances: Iterable[Instance]) -> None:
        for instance in instances:
            self.found.append(instance)
            self.claimed.update(instance.messages)

    def free(self, atoms: Iterable[Atom]) -> list[Atom]:
        return [atom for atom in atoms if not self.claimed.intersection(atom.messages)]

    def unclaimed(self) -> list[int]:
        return [m for m in range(len(self.traffic)) if m not in self.claimed]


def _gathered(state: _Detecting, found: Provenance, atoms: Sequence[Atom]) -> list[Spread]:
    """Allgathers are added; spreads of other atoms are returned. What belongs to a rotation is
    claimed by nobody else."""
    gathered, left, turned = allgathers(state.traffic, spreads(state.traffic, found, atoms))
    state.add(gathered)
    for spread in turned:
        state.claimed.update(spread.messages)
    return left


def _broadcasts(
    state: _Detecting, found: Provenance, spreads: Sequence[Spread], partial: Sequence[Atom]
) -> list[Instance]:
    again = _again(state.traffic, found, spreads, partial)
    answers = Answers(state.traffic, found)
    instances = []
    for spread in spreads:
        more = _alike(state.traffic, spread, again.get(spread.atoms[0].item, []))
        instance = broadcast(state.traffic, spread, more)
        if instance is None or answers.most(spread.messages):
            state.claimed.update(spread.messages)
        else:
            instances.append(instance)
    return instances


def _alike(traffic: Traffic, spread: Spread, messages: Sequence[int]) -> list[int]:
    """Of messages with the content of a broadcast those that may belong to it: a short content is
    met anywhere."""
    tags = {traffic.tag[message] for message in spread.messages}
    long = spread.bytes > SIGNAL
    return [message for message in messages if long or traffic.tag[message] in tags]


def _again(
    traffic: Traffic, found: Provenance, spreads: Sequence[Spread], partial: Sequence[Atom]
) -> dict[int, list[int]]:
    """Messages that carried the content of a broadcast besides, by its item: they set out from a
    rank that had it already, or that had it by itself."""
    items = {spread.atoms[0].item for spread in spreads if len(spread.atoms) == 1}
    linked: dict[int, set[int]] = defaultdict(set)
    for left, right in found.meets:
        linked[left].add(right)
        linked[right].add(left)
    messages: dict[int, list[int]] = defaultdict(list)
    for atom in partial:
        earlier = found.items[atom.item].again_of
        for item in {*linked[atom.item], earlier} & items:
            messages[item] += atom.messages
            break
    by_item: dict[int, list[int]] = defaultdict(list)
    for atom in partial:
        by_item[atom.item] += atom.messages
    for item in items:
        messages[item] += by_item.get(found.items[item].again_of, [])
    return {item: list(in_order(listed)) for item, listed in messages.items()}


def _incomplete(
    state: _Detecting, direct: Sequence[Instance], others: Sequence[Atom]
) -> list[Instance]:
    instances = [
        instance
        for instance in direct
        if instance.missing and not state.claimed.intersection(instance.messages)
    ]
    for atom, missing in nearly(state.traffic, state.free(others)):
        instances.append(
            Instance(
                "bcast",
                state.traffic.comm[atom.messages[0]],
                tuple(sorted(atom.receivers | {atom.origin})),
                atom.messages,
                atom.bytes,
                (atom.origin,),
                missing=missing,
            )
        )
    return instances
