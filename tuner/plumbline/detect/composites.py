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
_FIRST_HALVES = frozenset(half for half, _ in _RESULTS)
_SECOND_HALVES = frozenset(right for _, right in _RESULTS)


def composed(traffic: Traffic, instances: Sequence[Instance]) -> list[Instance]:
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
    for number in range(at - 1, max(at - NEAR, 0) - 1, -1):
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
