"""Reductions in which ranks exchange partial results: everybody has something in the end."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

from plumbline.detect import operators
from plumbline.detect.instances import Instance, in_order
from plumbline.detect.knowledge import Phase
from plumbline.detect.phased import MessageClass
from plumbline.detect.traffic import Traffic


def mutual(which: MessageClass) -> list[Instance]:
    """Allreduces in which ranks exchange partial results until all have the whole."""
    traffic, group, messages = which.traffic, which.group, which.messages

    def is_whole(phase: Phase) -> bool:
        return phase.complete == which.everybody and len(phase.messages) >= len(group)

    good = which.good("allreduce", False, is_whole)
    if not good:
        return []
    if len({traffic.content[message] for message in messages}) == 1:
        return []
    names: frozenset[str] | None = None
    agreed = 0
    for phase in good:
        agreement = _agreement(traffic, phase)
        possible = _proved(traffic, phase)
        if agreement is None or possible == frozenset():
            return []
        agreed += agreement
        if possible is not None:
            names = possible if names is None else names & possible
    if names == frozenset() or (names is None and not agreed):
        return []
    if any(phase.overlaps for phase in good) and not (names or frozenset()) & _IDEMPOTENT:
        return []
    return [
        Instance(
            "allreduce",
            which.comm,
            group,
            in_order(phase.messages),
            traffic.bytes[phase.messages[0]],
            operation=_named(names),
            evidence="proved" if names else "assumed",
        )
        for phase in good
    ]


_IDEMPOTENT = frozenset({"MAX", "MIN", "BAND", "BOR", "LAND", "LOR", "MAXLOC", "MINLOC"})
_FIRST = ("SUM", "MAX", "MIN", "MAXLOC", "MINLOC", "PROD", "LAND", "LOR", "BAND", "BOR")


def _named(names: frozenset[str] | None) -> str:
    """Of several the most usual one."""
    if not names:
        return ""
    return next((name for name in _FIRST if name in names), min(names))


def _agreement(traffic: Traffic, phase: Phase) -> int | None:
    """How often ranks that know of the same contributions send the same; None: they differ."""
    sent: dict[int, int] = {}
    count = 0
    for message in sorted(phase.messages, key=lambda each: traffic.sent[each]):
        known, content = phase.known[message], traffic.content[message]
        if known in sent and sent[known] != content:
            return None
        count += known in sent and known.bit_count() > 1
        sent[known] = content
    return count


def _proved(traffic: Traffic, phase: Phase) -> frozenset[str] | None:
    """Operators that give each partial result of which all operands were sent; None: there is no
    such one."""
    by_known: dict[int, int] = {}
    for message in phase.messages:
        by_known.setdefault(phase.known[message], message)
    found: frozenset[str] | None = None
    for known, message in by_known.items():
        if known.bit_count() < 2:
            continue
        for left, operand in by_known.items():
            right = known & ~left
            if left & ~known or left == known or left > right or right not in by_known:
                continue
            possible = operators.names(traffic, message, [operand, by_known[right]])
            found = possible if found is None else found & possible
    return found


def halving(which: MessageClass) -> list[Instance]:
    """Reduce-scatters in which ranks exchange ever smaller parts of partial results."""
    traffic, group = which.traffic, which.group
    most = (math.ceil(math.log2(len(group))) + 2) * len(group)

    def is_halving(phase: Phase) -> bool:
        whole = phase.complete == which.everybody and not phase.overlaps
        return whole and len(phase.messages) <= most and _shrinks(traffic, phase)

    good = which.good("reduce_scatter", False, is_halving)
    return [
        Instance(
            "reduce_scatter",
            which.comm,
            group,
            in_order(phase.messages),
            min(traffic.bytes[message] for message in phase.messages),
            operation="",
            evidence="assumed",
        )
        for phase in good
    ]


def _shrinks(traffic: Traffic, phase: Phase) -> bool:
    """Whether each rank sends less, the more it knows."""
    sizes: dict[int, list[int]] = defaultdict(list)
    for message in sorted(phase.messages, key=lambda each: traffic.sent[each]):
        sizes[traffic.source[message]].append(traffic.bytes[message])
    return all(right < left for listed in sizes.values() for left, right in pairwise(listed))
