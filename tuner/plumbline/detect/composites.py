"""Collectives that follow each other and are one: a reduce and the broadcast of its result, a
reduce-scatter and the allgather of its blocks, a gather and the broadcast of all of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from plumbline.detect.instances import Instance, first_sent, in_order, last_received
from plumbline.detect.traffic import Traffic

_RESULTS = {
    ("reduce", "bcast"): "allreduce",
    ("reduce_scatter", "allgather"): "allreduce",
    ("reduce", "scatter"): "reduce_scatter",
}


def composed(traffic: Traffic, instances: Sequence[Instance]) -> list[Instance]:
    """Instances, with pairs in the place of their two halves. A half has the second half that
    comes next on its group, and has no other one before it."""
    by_group: dict[tuple[int, tuple[int, ...]], list[Instance]] = defaultdict(list)
    for instance in instances:
        by_group[instance.comm, instance.group].append(instance)
    found: list[Instance] = []
    for listed in by_group.values():
        listed.sort(key=lambda instance: first_sent(traffic, instance))
        used: set[int] = set()
        for at, left in enumerate(listed):
            if at in used:
                continue
            partner = _partner(traffic, listed, at, used)
            if partner is None:
                found.append(left)
            else:
                used.add(partner)
                found.append(_both(left, listed[partner]))
    found = [instance for instance in found if instance.evidence != "weak"]
    found.sort(key=lambda instance: first_sent(traffic, instance))
    return found


def _partner(traffic: Traffic, listed: Sequence[Instance], at: int, used: set[int]) -> int | None:
    left = listed[at]
    if not any(first == left.collective for first, _ in _RESULTS):
        return None
    for number in range(at + 1, min(at + 4, len(listed))):
        right = listed[number]
        if number in used or (left.collective, right.collective) not in _RESULTS:
            continue
        return number if _follows(traffic, left, right) else None
    return None


def _follows(traffic: Traffic, left: Instance, right: Instance) -> bool:
    if left.collective == "reduce":
        root = left.roots[0]
        if root not in right.roots:
            return False
        got = max(traffic.received[m] for m in left.messages if traffic.target[m] == root)
        gave = min(traffic.sent[m] for m in right.messages if traffic.source[m] == root)
        sizes = left.bytes == right.bytes if right.collective == "bcast" else True
        return sizes and got < gave
    return right.bytes == left.bytes and last_received(traffic, right) > last_received(
        traffic, left
    )


def _both(left: Instance, right: Instance) -> Instance:
    name = _RESULTS[left.collective, right.collective]
    nbytes = left.bytes if left.collective == "reduce" else left.bytes * len(left.group)
    return Instance(
        name,
        left.comm,
        left.group,
        in_order({*left.messages, *right.messages}),
        right.bytes if name == "reduce_scatter" else nbytes,
        irregular=False,
        operation=left.operation,
        evidence="proved" if left.evidence == "proved" else "assumed",
    )
