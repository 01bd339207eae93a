"""Contents of one size that are combined on their way: reduce, allreduce, scan, reduce_scatter.
Everybody's contribution must come in once; what is computed is looked at as far as the recording
tells. A rank's own operand is mostly never sent: then the operator is assumed, not proved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from plumbline.detect import operators
from plumbline.detect.classes import Key, in_classes, in_groups
from plumbline.detect.instances import Instance
from plumbline.detect.mutual import halving, mutual
from plumbline.detect.phased import Memo, MessageClass
from plumbline.detect.rings import rings
from plumbline.detect.rooted import rooted
from plumbline.detect.traffic import Traffic


def reductions(
    traffic: Traffic, messages: Iterable[int], memo: Memo, *, surely: bool = False
) -> list[Instance]:
    """Reductions to a root, to all, and along a chain. `surely`: only those of which contents
    prove the operator, or speak for it where it hands on values as they are.
    `memo`: what is known of classes that were looked at before."""
    numbers = [m for m in messages if traffic.bytes[m] and traffic.element[m] in operators.NUMERIC]
    keys: list[Key] = [
        lambda m: (traffic.comm[m], traffic.kind[m], traffic.send_site[m]),
        lambda m: (traffic.comm[m], traffic.kind[m], traffic.tag[m]),
        lambda m: (traffic.comm[m], traffic.kind[m]),
        lambda m: (traffic.comm[m], traffic.send_site[m]),
        lambda m: (traffic.comm[m], traffic.tag[m]),
    ]
    return in_classes(numbers, keys, partial(_of_class, traffic, surely, memo))


def _of_class(
    traffic: Traffic, surely: bool, memo: Memo, comm: int, members: Sequence[int]
) -> list[Instance]:
    found: list[Instance] = []
    for group, own in in_groups(traffic, comm, members):
        which = MessageClass(traffic, comm, group, own, memo)
        if len({traffic.kind[message] for message in own}) == 1:
            found += _surely(which) if surely else rooted(which) or mutual(which) or rings(which)
        elif not surely:
            found += halving(which)
    return found


def _surely(which: MessageClass) -> list[Instance]:
    new = rooted(which, surely=True)
    if not new:
        new = [instance for instance in mutual(which) if instance.operation]
    return [instance for instance in new if instance.evidence != "weak"]
