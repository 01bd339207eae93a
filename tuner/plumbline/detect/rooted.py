"""Reductions to a root, and along a chain."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from plumbline.detect import operators
from plumbline.detect.assumed import ENOUGH, assumed
from plumbline.detect.instances import Instance, in_order
from plumbline.detect.knowledge import Phase
from plumbline.detect.phased import MessageClass
from plumbline.detect.traffic import Traffic


def rooted(which: MessageClass, *, surely: bool = False) -> list[Instance]:
    """Reductions to a root: a tree into which everybody sends once. `surely`: only where contents
    speak for an operator that hands on values as they are."""
    traffic, group, messages = which.traffic, which.group, which.messages

    def is_tree(phase: Phase) -> bool:
        once = len(phase.messages) == len(group) - 1
        return once and bool(phase.complete) and not phase.overlaps

    good = which.good("reduce", True, is_tree)
    constant = len({traffic.content[message] for message in messages}) == 1
    if not good or constant:
        return []
    chains = [len({traffic.target[m] for m in phase.messages}) > len(group) - 2 for phase in good]
    stars = [len({traffic.target[m] for m in phase.messages}) == 1 for phase in good]
    if any(chains) or all(stars):  # what anything looks like: then it must be all of the class
        if sum(len(phase.messages) for phase in good) < len(messages):
            return []
        if 2 * sum(_is_dialogue(traffic, phase) for phase in good) > len(good):
            return []
    whole = [m for phase in good for m in phase.messages if phase.known[m].bit_count() == 1]
    operation = assumed(traffic, whole, _combinations(traffic, good))
    if operation is None or (surely and not _handing_on(traffic, good, messages, operation.name)):
        return []
    found = []
    for phase, chain in zip(good, chains, strict=True):
        root = group[phase.complete.bit_length() - 1]
        scan = chain and _upwards(traffic, phase, group)
        weak = chain and operation.bits < ENOUGH
        found.append(
            Instance(
                "scan" if scan and not weak else "reduce",
                which.comm,
                group,
                in_order(phase.messages),
                traffic.bytes[phase.messages[0]],
                () if scan and not weak else (root,),
                operation=operation.name,
                evidence="weak" if weak else "assumed",
                remarks=_rooted_remarks(traffic, phase, scan, root),
            )
        )
    return found


def _is_dialogue(traffic: Traffic, phase: Phase) -> bool:
    """Whether the root answers a rank before it has heard of all: a master and his workers."""
    got: dict[int, dict[int, int]] = defaultdict(dict)
    for message in phase.messages:
        got[traffic.target[message]][traffic.source[message]] = traffic.received[message]
    root, heard = max(got.items(), key=lambda each: len(each[1]))
    last = max(heard.values())
    sent = traffic.sent_by(root)
    first = bisect(sent, min(heard.values()), key=lambda message: traffic.sent[message])
    for message in sent[first:]:
        if traffic.sent[message] > last:
            return False
        if heard.get(traffic.target[message], last) < traffic.sent[message]:
            return True
    return False


def _rooted_remarks(traffic: Traffic, phase: Phase, scan: bool, root: int) -> tuple[str, ...]:
    if len({traffic.target[message] for message in phase.messages}) == 1:
        return ("or a gather, if the root keeps what it gets: it receives into one place",)
    if scan:
        return (f"or a reduce to rank {root}, if only that one uses what it gets",)
    return ()


def _upwards(traffic: Traffic, phase: Phase, group: Sequence[int]) -> bool:
    """Whether a chain goes from the first rank of the group to the last."""
    hops = {(traffic.source[message], traffic.target[message]) for message in phase.messages}
    return hops == set(pairwise(group))


def _handing_on(
    traffic: Traffic, good: Sequence[Phase], messages: Sequence[int], name: str
) -> bool:
    """Whether ranks hand on the larger value, or the like, rather than all the same one: what
    speaks for it is where something else goes on than came."""
    differ = [len({traffic.content[m] for m in phase.messages}) > 1 for phase in good]
    everything = sum(len(phase.messages) for phase in good) == len(messages)
    if name in ("", "SUM") or not everything or 2 * sum(differ) <= len(good):
        return False
    bits = 0.0
    for message, operands in _combinations(traffic, good):
        if traffic.content[message] not in {traffic.content[each] for each in operands}:
            bits += operators.partly(traffic, message, operands).get(name, 0.0)
    return bits >= ENOUGH / 2


def _combinations(traffic: Traffic, good: Sequence[Phase]) -> list[tuple[int, list[int]]]:
    """What ranks have sent, and what they had got for it: also the root, if he sends something
    of the kind before it goes on."""
    found = _results(traffic, good)
    for phase in good:
        into: dict[int, list[int]] = defaultdict(list)
        for message in phase.messages:
            into[traffic.target[message]].append(message)
        for message in phase.messages:
            operands = into.get(traffic.source[message])
            if operands:
                found.append((message, operands))
    return found


def _results(traffic: Traffic, good: Sequence[Phase]) -> list[tuple[int, list[int]]]:
    sent: dict[tuple[int, int], list[int]] = {}
    for phase in good:
        last = max(phase.messages, key=lambda each: traffic.received[each])
        sent.setdefault((traffic.target[last], traffic.kind[last]), [])
    for message in range(len(traffic)):
        listed = sent.get((traffic.source[message], traffic.kind[message]))
        if listed is not None:
            listed.append(message)
    found = []
    for phase, following in zip(good, [*good[1:], None], strict=True):
        last = max(phase.messages, key=lambda each: traffic.received[each])
        root = traffic.target[last]
        listed = sent[root, traffic.kind[last]]
        at = bisect(listed, traffic.received[last], key=lambda each: traffic.sent[each])
        until = (
            min((traffic.received[m] for m in following.messages), default=0) if following else 0
        )
        if at < len(listed) and (not following or traffic.sent[listed[at]] < until):
            found.append((listed[at], [m for m in phase.messages if traffic.target[m] == root]))
    return found
