"""Collectives that follow each other and are one: a reduce and the broadcast of its result, a
reduce-scatter and the allgather of its blocks, a gather and the broadcast of all of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from plumbline.detect.instances import Instance, in_order, last_received
from plumbline.detect.traffic import Traffic

# So many instances of a group may lie between two halves.
NEAR = 3

_RESULTS = {
    ("reduce", "bcast"): "allreduce",
    ("reduce_scatter", "allgather"): "allreduce",
    ("reduce", "scatter"): "reduce_scatter",
}
_FIRST_HALVES = frozenset(left for left, _ in _RESULTS)
_SECOND_HALVES = frozenset(right for _, right in _RESULTS)


def composed(traffic: Traffic, instances: Sequence[Instance]) -> list[Instance]:
    """Instances, with pairs in the place of their two halves. A second half goes with the first
    half that came last on its group."""
    by_group: dict[tuple[int, tuple[int, ...]], list[Instance]] = defaultdict(list)
    for instance in instances:
        by_group[instance.comm, instance.group].append(instance)
    found: list[Instance] = []
    for listed in by_group.values():
        if not any(instance.collective in _FIRST_HALVES for instance in listed):
            found += listed
            continue
        listed.sort(key=_first)
        used: set[int] = set()
        for at, right in enumerate(listed):
            if right.collective not in _SECOND_HALVES:
                continue
            first = _first_half(traffic, listed, at, used)
            if first is not None:
                used |= {first, at}
                found.append(_both(listed[first], right))
        found += [instance for at, instance in enumerate(listed) if at not in used]
    found = [instance for instance in found if instance.evidence != "weak"]
    found.sort(key=_first)
    return found


def _first(instance: Instance) -> int:
    return instance.messages[0]


def _first_half(
    traffic: Traffic, listed: Sequence[Instance], at: int, used: set[int]
) -> int | None:
    """The last one before that goes with it."""
    right = listed[at]
    for number in range(at - 1, max(at - NEAR, 0) - 1, -1):
        left = listed[number]
        fits = (left.collective, right.collective) in _RESULTS
        if number not in used and fits and _follows(traffic, left, right):
            return number
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
