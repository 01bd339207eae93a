"""Reductions to a root, and along a chain."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from plumbline.detect import core, operators
from plumbline.detect.assumed import ENOUGH, assumed
from plumbline.detect.columns import Mask
from plumbline.detect.combined import Combined, combined
from plumbline.detect.instances import Instance
from plumbline.detect.knowledge import MessageClass, Phases, Way
from plumbline.detect.traffic import Traffic


def rooted(which: MessageClass, *, surely: bool = False) -> list[Instance]:
    """Reductions to a root: a tree into which everybody sends once. `surely`: only where contents
    speak for an operator that hands on values as they are."""
    traffic, group, messages = which.traffic, which.group, which.messages
    good = which.good(Way.TREE)
    if good is None or which.says_one_thing:
        return []
    targets = which.distinct(traffic.target[good.messages.at], good)
    # A rank that adds up receives all terms in the same function.
    if (which.distinct(traffic.functions[good.messages.at] + 1, good) > 1).any():
        return []
    chains = targets > len(group) - 2
    if chains.any() or (targets == 1).all():  # what anything looks like: then it must be all of it
        if len(good.messages.at) < len(messages):
            return []
        if 2 * _dialogues(traffic, good) > len(good):
            return []
    whole = good.messages.at[good.set_sizes[good.known] == 1]
    made = combined(traffic, good)
    operation = assumed(traffic, whole, made)
    if operation is None:
        return []
    if surely and not _handing_on(which, good, made, operation.name):
        return []
    weak = chains & (operation.bits < ENOUGH)
    scans = chains & _upwards(traffic, good, group)
    nbytes = int(traffic.bytes[messages[0]])
    instances = []
    listed = (column.tolist() for column in (good.last, scans, weak, targets))
    for own, last, scan, is_weak, target in zip(good.messages.tuples(), *listed, strict=True):
        root = group[last]
        instances.append(
            Instance(
                "scan" if scan and not is_weak else "reduce",
                which.comm,
                group,
                own,
                nbytes,
                () if scan and not is_weak else (root,),
                operation=operation.name,
                evidence="weak" if is_weak else "assumed",
                remarks=_remarks(target, scan, root),
            )
        )
    return instances


def _dialogues(traffic: Traffic, good: Phases) -> int:
    """Return how often the root answers a rank before it has heard of all: a master and his
    workers."""
    passed, sent_by = good.messages.passed, traffic.sent_by.passed
    return int(core.call("pl_dialogues", traffic.passed, passed, sent_by)[0].sum())


def _remarks(targets: int, scan: bool, root: int) -> tuple[str, ...]:
    if targets == 1:
        return ("or a gather, if the root keeps what it gets: it receives into one place",)
    if scan:
        return (f"or a reduce to rank {root}, if only that one uses what it gets",)
    return ()


def _upwards(traffic: Traffic, good: Phases, group: tuple[int, ...]) -> Mask:
    """Return whether a chain goes from the first rank of the group to the last."""
    hops = [lower * traffic.nprocs + right for lower, right in pairwise(group)]
    along = np.isin(traffic.pairs(good.messages.at), hops)
    return np.asarray(np.logical_and.reduceat(along, good.messages.first[:-1]))


def _handing_on(which: MessageClass, good: Phases, made: Combined, name: str) -> bool:
    """Return whether ranks hand on the larger value, or the like, rather than all the same one:
    what speaks for it is where something else goes on than came."""
    content = which.traffic.content
    differ = int((which.distinct(content[good.messages.at], good) > 1).sum())
    everything = len(good.messages.at) == len(which.messages)
    if name in ("", "SUM") or not everything or 2 * differ <= len(good):
        return False
    same = content[made.of_operand] == content[made.operands.at]
    differs = ~np.logical_or.reduceat(same, made.operands.first[:-1])
    if not differs.any():
        return False
    made = made.picked(differs)
    speaking = operators.partly(which.traffic, made).get(name)
    if speaking is None:
        return False
    bits = speaking.bits * float(made.operands.lengths[speaking.agree].sum())
    return bits >= ENOUGH / 2
