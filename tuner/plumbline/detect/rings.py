"""Reduce-scatters on a ring: each block goes once around, and every rank adds its term to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from plumbline.detect.assumed import ENOUGH, assumed
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.phased import MessageClass
from plumbline.detect.traffic import Traffic


def rings(which: MessageClass) -> list[Instance]:
    """Of messages of one size: each rank sends to one other, which is a ring, and once less than
    there are ranks. Weak, where contents do not say that terms were added."""
    traffic, group, messages = which.traffic, which.group, which.messages
    following = {traffic.source[message]: traffic.target[message] for message in messages}
    by_rank: dict[int, list[int]] = defaultdict(list)
    for message in sorted(messages, key=lambda each: traffic.sent[each]):
        if following[traffic.source[message]] != traffic.target[message]:
            return []
        by_rank[traffic.source[message]].append(message)
    steps = len(group) - 1
    counts = {len(by_rank[rank]) for rank in group}
    if steps + 1 < SMALLEST_GROUP or len(counts) != 1 or next(iter(counts)) % steps:
        return []
    if not _round(following, group):
        return []
    times = [
        {rank: by_rank[rank][first : first + steps] for rank in group}
        for first in range(0, next(iter(counts)), steps)
    ]
    whole = [time[rank][0] for time in times for rank in group]
    combined = [
        (time[following[rank]][step + 1], [time[rank][step]])
        for time in times
        for rank in group
        for step in range(steps - 1)
    ]
    operation = assumed(traffic, whole, combined)
    if operation is None or not _in_time(traffic, combined):
        return []
    return [
        Instance(
            "reduce_scatter",
            which.comm,
            group,
            in_order({message for listed in time.values() for message in listed}),
            traffic.bytes[messages[0]],
            operation=operation.name,
            evidence="assumed" if operation.bits >= ENOUGH else "weak",
        )
        for time in times
    ]


def _round(following: dict[int, int], group: Sequence[int]) -> bool:
    at, seen = group[0], set()
    while at not in seen and at in following:
        seen.add(at)
        at = following[at]
    return at == group[0] and len(seen) == len(group)


def _in_time(traffic: Traffic, combined: Sequence[tuple[int, Sequence[int]]]) -> bool:
    """Whether each rank had what it is thought to have added to."""
    return all(
        traffic.received[operand] < traffic.sent[message]
        for message, operands in combined
        for operand in operands
    )
