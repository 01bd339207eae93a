"""Contents of one size that are combined on their way: reduce, allreduce, scan, reduce_scatter.
Everybody's contribution must come in once; what is computed is looked at as far as the recording
tells. A rank's own operand is mostly never sent: then the operator is assumed, not proved."""

from __future__ import annotations

import itertools
import math
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from plumbline.detect import operators
from plumbline.detect.assumed import ENOUGH, assumed
from plumbline.detect.groups import components, partition
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.knowledge import Phase, phases
from plumbline.detect.rings import rings
from plumbline.detect.traffic import Traffic

EXPLAINED = 0.5
Key = Callable[[int], tuple[int, ...]]


def reductions(
    traffic: Traffic, messages: Iterable[int], *, surely: bool = False
) -> list[Instance]:
    """Reductions to a root, to all, and along a chain. `surely`: only those of which contents
    prove the operator, or speak for it where it hands on values as they are."""
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
            for instance in _of_class(traffic, comm, members, surely)
        ]
        found += new
        taken = {message for instance in new for message in instance.messages}
        left = [message for message in left if message not in taken]
    return found


def _of_class(traffic: Traffic, comm: int, members: Sequence[int], surely: bool) -> list[Instance]:
    ranks = traffic.recording.communicators[comm].ranks
    groups = components((traffic.source[m], traffic.target[m]) for m in members)
    if not partition(groups, ranks):
        return []
    found: list[Instance] = []
    for group in groups:
        inside = set(group)
        own = [message for message in members if traffic.source[message] in inside]
        if len({traffic.kind[message] for message in own}) == 1:
            new = _rooted(traffic, comm, group, own, surely)
            new = new or _mutual(traffic, comm, group, own)
            if surely:
                new = [instance for instance in new if instance.evidence != "weak"]
                new = [each for each in new if each.collective != "allreduce" or each.operation]
            else:
                new = new or rings(traffic, comm, group, own)
            found += new
        elif not surely:
            found += _halving(traffic, comm, group, own)
    return found


def _explained(good: Sequence[Phase], messages: Sequence[int]) -> bool:
    return sum(len(phase.messages) for phase in good) >= EXPLAINED * len(messages)


def _rooted(
    traffic: Traffic, comm: int, group: tuple[int, ...], messages: Sequence[int], surely: bool
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
    chains = [len({traffic.target[m] for m in phase.messages}) > len(group) - 2 for phase in good]
    if any(chains) and sum(len(phase.messages) for phase in good) < len(messages):
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
                comm,
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


def _rooted_remarks(traffic: Traffic, phase: Phase, scan: bool, root: int) -> tuple[str, ...]:
    if len({traffic.target[message] for message in phase.messages}) == 1:
        return ("or a gather, if the root keeps what it gets: it receives into one place",)
    if scan:
        return (f"or a reduce to rank {root}, if only that one uses what it gets",)
    return ()


def _upwards(traffic: Traffic, phase: Phase, group: Sequence[int]) -> bool:
    """Whether a chain goes from the first rank of the group to the last."""
    hops = {(traffic.source[message], traffic.target[message]) for message in phase.messages}
    return hops == set(itertools.pairwise(group))


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
        right < left for listed in sizes.values() for left, right in itertools.pairwise(listed)
    )
