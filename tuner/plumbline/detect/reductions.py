"""Contents of one size that are combined on their way: reduce, allreduce, scan, reduce_scatter.
Everybody's contribution must come in once; what is computed is looked at as far as the recording
tells. A rank's own operand is mostly never sent: then the operator is assumed, not proved."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from plumbline.detect import operators
from plumbline.detect.groups import components, partition
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.knowledge import Phase, phases
from plumbline.detect.traffic import Traffic

EXPLAINED = 0.5
# Bits of evidence that a chain needs: pipelines look like it.
CHAIN_EVIDENCE = 8.0
# What an element of an assumed term says, where it lies among those that were sent.
BITS_OF_A_TERM = 0.4

Key = Callable[[int], tuple[int, ...]]


def reductions(traffic: Traffic, messages: Iterable[int]) -> list[Instance]:
    """Reductions to a root, to all, and along a chain, among messages that nothing else has
    claimed."""
    left = [m for m in messages if traffic.bytes[m] and traffic.element[m] in operators.NUMERIC]
    keys: list[Key] = [
        lambda m: (traffic.comm[m], traffic.kind[m], traffic.send_site[m]),
        lambda m: (traffic.comm[m], traffic.kind[m], traffic.tag[m]),
        lambda m: (traffic.comm[m], traffic.kind[m]),
        lambda m: (traffic.comm[m], traffic.send_site[m]),
        lambda m: (traffic.comm[m], traffic.tag[m]),
    ]
    found: list[Instance] = []
    for key in keys:
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for message in left:
            classes[key(message)].append(message)
        new = [
            instance
            for (comm, *_), members in classes.items()
            for instance in _of_class(traffic, comm, members)
        ]
        found += new
        taken = {message for instance in new for message in instance.messages}
        left = [message for message in left if message not in taken]
    return found


def _of_class(traffic: Traffic, comm: int, members: Sequence[int]) -> list[Instance]:
    ranks = traffic.recording.communicators[comm].ranks
    groups = components((traffic.source[m], traffic.target[m]) for m in members)
    if not partition(groups, ranks):
        return []
    found: list[Instance] = []
    for group in groups:
        inside = set(group)
        own = [message for message in members if traffic.source[message] in inside]
        if len({traffic.kind[message] for message in own}) == 1:
            found += _rooted(traffic, comm, group, own) or _mutual(traffic, comm, group, own)
        else:
            found += _halving(traffic, comm, group, own)
    return found


def _explained(good: Sequence[Phase], messages: Sequence[int]) -> bool:
    return sum(len(phase.messages) for phase in good) >= EXPLAINED * len(messages)


def _rooted(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Sequence[int]
) -> list[Instance]:
    """Reductions to a root: a tree into which everybody sends once."""
    good = [
        phase
        for phase in phases(traffic, messages, group, rooted=True)
        if phase.complete and not phase.overlaps and len(phase.messages) == len(group) - 1
    ]
    constant = len({traffic.content[message] for message in messages}) == 1
    if not good or constant or not _explained(good, messages):
        return []
    operation = _assumed(traffic, good)
    if operation is None:
        return []
    found = []
    for phase in good:
        root = group[phase.complete.bit_length() - 1]
        ends = Counter(traffic.target[message] for message in phase.messages)
        chain = len(ends) == len(group) - 1
        if chain and operation.bits < CHAIN_EVIDENCE:
            return []
        star = len(ends) == 1
        scan = chain and _upwards(traffic, phase, group)
        found.append(
            Instance(
                "scan" if scan else "reduce",
                comm,
                group,
                in_order(phase.messages),
                traffic.bytes[phase.messages[0]],
                () if scan else (root,),
                operation=operation.name,
                evidence="assumed",
                remarks=_rooted_remarks(star, scan, root),
            )
        )
    return found


def _rooted_remarks(star: bool, scan: bool, root: int) -> tuple[str, ...]:
    if star:
        return ("or a gather, if the root keeps what it gets: it receives into one place",)
    if scan:
        return (f"or a reduce to rank {root}, if only that one uses what it gets",)
    return ()


def _upwards(traffic: Traffic, phase: Phase, group: Sequence[int]) -> bool:
    """Whether a chain goes from the first rank of the group to the last."""
    hops = {(traffic.source[message], traffic.target[message]) for message in phase.messages}
    return hops == set(zip(group, group[1:], strict=False))


class _Assumed(msgspec.Struct, frozen=True):
    name: str
    bits: float


def _assumed(traffic: Traffic, good: Sequence[Phase]) -> _Assumed | None:
    """The operator that all combinations allow, the best proved one; None: none is left.

    Where ranks pass on the larger of two values some pass on what they got; sums do not."""
    bits: dict[str, float] | None = None
    terms: list[tuple[int, list[int]]] = []
    same = 0
    for phase in good:
        into: dict[int, list[int]] = defaultdict(list)
        for message in phase.messages:
            into[traffic.target[message]].append(message)
        for message in phase.messages:
            operands = into.get(traffic.source[message])
            if operands:
                terms.append((message, operands))
    for message, operands in terms:
        same += any(traffic.content[message] == traffic.content[each] for each in operands)
        possible = operators.partly(traffic, message, operands)
        if bits is None:
            bits = possible
        else:
            bits = {name: bits[name] + possible[name] for name in bits if name in possible}
    if bits is None:
        return _Assumed("", 0.0)
    summed = _sum_bits(traffic, good, terms)
    if summed is None:
        bits.pop("SUM", None)
    else:
        bits["SUM"] = summed
    if not bits:
        return None
    extremes = {name: value for name, value in bits.items() if name != "SUM"}
    if extremes and same:
        name = max(extremes, key=lambda each: extremes[each])
        return _Assumed(name, extremes[name] + 8.0 * same)
    name = "SUM" if "SUM" in bits else max(bits, key=lambda each: bits[each])
    return _Assumed(name, bits[name])


def _sum_bits(
    traffic: Traffic, good: Sequence[Phase], terms: Sequence[tuple[int, list[int]]]
) -> float | None:
    """How much speaks for sums: whether the terms that were never sent lie where those that were
    sent do. None: they do not."""
    whole = [message for phase in good for message in phase.messages
             if phase.known[message].bit_count() == 1]
    sample = [operators.values(traffic, message) for message in whole]
    if not terms or any(each is None or each.dtype.names for each in sample):
        return _sum_bits_by_norm(traffic, whole, terms)
    seen = np.concatenate([np.asarray(each, np.float64) for each in sample if each is not None])
    width = float(seen.max() - seen.min())
    slack = width + 0.25 * float(np.abs(seen).max())
    low, high = seen.min() - slack, seen.max() + slack
    inside = total = 0
    for message, operands in terms:
        result = operators.values(traffic, message)
        parts = [operators.values(traffic, each) for each in operands]
        if result is None or any(part is None for part in parts):
            return 0.0
        term = result.astype(np.float64)
        for part in parts:
            term = term - np.asarray(part, np.float64)
        inside += int(((term >= low) & (term <= high)).sum())
        total += term.size
    return None if inside < 0.9 * total else BITS_OF_A_TERM * total


def _sum_bits_by_norm(
    traffic: Traffic, whole: Sequence[int], terms: Sequence[tuple[int, list[int]]]
) -> float | None:
    """The same for contents of which only the L1 norm is known: those of a sum of numbers of one
    sign add up."""
    norms = traffic.recording.events["sketch"][traffic.send_event][:, 2]
    sent = [float(norms[message]) for message in whole]
    if not terms or not sent or min(sent) <= 0:
        return 0.0
    left = [
        float(norms[message]) - sum(float(norms[each]) for each in operands)
        for message, operands in terms
    ]
    low, high = 0.5 * min(sent), 2 * max(sent)
    inside = sum(low <= value <= high for value in left)
    return 2.0 * inside if inside >= 0.9 * len(left) else 0.0


def _mutual(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Sequence[int]
) -> list[Instance]:
    """Allreduces in which ranks exchange partial results until all have the whole."""
    everybody = (1 << len(group)) - 1
    good = [
        phase
        for phase in phases(traffic, messages, group, rooted=False)
        if phase.complete == everybody and len(phase.messages) >= len(group)
    ]
    if not good or not _explained(good, messages):
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
            comm,
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


def _halving(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Sequence[int]
) -> list[Instance]:
    """Reduce-scatters in which ranks exchange ever smaller parts of partial results."""
    everybody = (1 << len(group)) - 1
    rounds = math.ceil(math.log2(len(group)))
    good = [
        phase
        for phase in phases(traffic, messages, group, rooted=False)
        if phase.complete == everybody
        and not phase.overlaps
        and _shrinks(traffic, phase)
        and len(phase.messages) <= (rounds + 2) * len(group)
    ]
    if len(group) < SMALLEST_GROUP or not good or not _explained(good, messages):
        return []
    return [
        Instance(
            "reduce_scatter",
            comm,
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
    return all(
        right < left for listed in sizes.values() for left, right in zip(listed, listed[1:], strict=False)
    )
