"""Reduce-scatters on a ring: each block goes once around, and every rank adds its term to it."""

from __future__ import annotations

import numpy as np

from plumbline.detect.assumed import ENOUGH, assumed
from plumbline.detect.columns import Indices, Rows
from plumbline.detect.combined import Combined
from plumbline.detect.instances import SMALLEST_GROUP, Instance, in_order
from plumbline.detect.knowledge import MessageClass


def rings(which: MessageClass) -> list[Instance]:
    """Of messages of one size: each rank sends to one other, which is a ring, and once less than
    there are ranks. Weak, where contents do not say that terms were added."""
    traffic, group, messages = which.traffic, which.group, which.messages
    steps, size = len(group) - 1, len(group)
    if size < SMALLEST_GROUP or len(messages) % (size * steps):
        return []
    following = _following(which)
    if following is None:
        return []
    place = np.zeros(traffic.nprocs, np.int64)
    place[list(group)] = np.arange(size)
    order = np.argsort(place[traffic.source[messages]], kind="stable")
    # By rank's place, time and step.
    turns: Indices = messages[order].reshape(size, -1, steps)
    senders = traffic.source[turns]
    if (senders != np.array(group)[:, None, None]).any():
        return []
    operands, made = turns[:, :, :-1].ravel(), turns[following][:, :, 1:].ravel()
    combined = Combined(made, Rows(np.arange(len(made) + 1), operands))
    operation = assumed(traffic, turns[:, :, 0].ravel(), combined)
    if operation is None or (traffic.received[operands] >= traffic.sent[made]).any():
        return []
    return [
        Instance(
            "reduce_scatter",
            which.comm,
            group,
            in_order(turns[:, time].ravel().tolist()),
            int(traffic.bytes[messages[0]]),
            operation=operation.name,
            evidence="assumed" if operation.bits >= ENOUGH else "weak",
        )
        for time in range(turns.shape[1])
    ]


def _following(which: MessageClass) -> Indices | None:
    """By place in the group: the place of the one rank that it sends to; None: they are no ring."""
    traffic, group, messages = which.traffic, which.group, which.messages
    target = np.full(traffic.nprocs, -1, np.int64)
    target[traffic.source[messages]] = traffic.target[messages]
    if (target[traffic.source[messages]] != traffic.target[messages]).any():
        return None
    place = {rank: at for at, rank in enumerate(group)}
    following = [place.get(int(target[rank]), -1) for rank in group]
    if min(following) < 0 or len(set(following)) < len(group) or not _is_one_round(following):
        return None
    return np.array(following, np.int64)


def _is_one_round(following: list[int]) -> bool:
    """Whether a permutation passes all before it comes back to the first."""
    at, length = following[0], 1
    while at:
        at, length = following[at], length + 1
    return length == len(following)
