"""Contents of one size that are combined on their way: reduce, allreduce, scan, reduce_scatter.
Everybody's contribution must come in once; what is computed is looked at as far as the recording
tells. A rank's own operand is mostly never sent: then the operator is assumed, not proved."""

from __future__ import annotations

from functools import partial

import numpy as np

from plumbline.detect import operators
from plumbline.detect.classes import Key, in_classes, in_groups, ways
from plumbline.detect.columns import Indices
from plumbline.detect.instances import Instance
from plumbline.detect.mutual import halving, mutual
from plumbline.detect.phased import Memo, MessageClass
from plumbline.detect.rings import rings
from plumbline.detect.rooted import rooted
from plumbline.detect.traffic import Traffic


def reductions(
    traffic: Traffic, messages: Indices, memo: Memo, *, surely: bool = False
) -> list[Instance]:
    """Reductions to a root, to all, and along a chain. `surely`: only those of which contents
    prove the operator, or speak for it where it hands on values as they are.
    `memo`: what is known of classes that were looked at before."""
    numeric = np.isin(traffic.element[messages], list(operators.NUMERIC))
    numbers = messages[(traffic.bytes[messages] > 0) & numeric]
    kind = traffic.kind
    keys: list[Key] = [
        lambda some: traffic.with_site(kind[some], some),
        lambda some: traffic.with_tag(kind[some], some),
        lambda some: kind[some],
        *ways(traffic)[:2],
    ]
    return in_classes(traffic, numbers, keys, partial(_of_class, traffic, surely, memo))


def _of_class(
    traffic: Traffic, surely: bool, memo: Memo, comm: int, members: Indices
) -> list[Instance]:
    found: list[Instance] = []
    for group, own in in_groups(traffic, comm, members):
        which = MessageClass(traffic, comm, group, own, memo)
        kinds = traffic.kind[own]
        if (kinds == kinds[0]).all():
            found += _surely(which) if surely else rooted(which) or mutual(which) or rings(which)
        elif not surely:
            found += halving(which)
    return found


def _surely(which: MessageClass) -> list[Instance]:
    new = rooted(which, surely=True)
    if not new:
        new = [instance for instance in mutual(which) if instance.operation]
    return [instance for instance in new if instance.evidence != "weak"]
