"""Contents of one size that are combined on their way: reduce, allreduce, scan, reduce_scatter.
Everybody's contribution must come in once; what is computed is looked at as far as the recording
tells. A rank's own operand is mostly never sent: then the operator is assumed, not proved."""

from __future__ import annotations

from functools import partial

import numpy as np

from plumbline.detect import operators
from plumbline.detect.classes import Search, Shared, in_classes
from plumbline.detect.columns import Indices
from plumbline.detect.instances import Instance
from plumbline.detect.kinds import Element
from plumbline.detect.knowledge import MessageClass
from plumbline.detect.mutual import halving, mutual
from plumbline.detect.rings import rings
from plumbline.detect.rooted import rooted
from plumbline.detect.traffic import Traffic

_IS_NUMERIC = np.array([element in operators.NUMERIC for element in Element])

_WAYS = (
    *(Shared.KIND | Shared.SITE, Shared.KIND | Shared.TAG, Shared.KIND),
    *(Shared.SITE, Shared.TAG),
)


def reductions(traffic: Traffic, messages: Indices, *, surely: bool = False) -> list[Instance]:
    """Reductions to a root, to all, and along a chain. `surely`: only those of which contents
    prove the operator, or speak for it where it hands on values as they are."""
    numbers = messages[(traffic.bytes[messages] > 0) & _IS_NUMERIC[traffic.element[messages]]]
    search = Search.SURE_REDUCTIONS if surely else Search.REDUCTIONS
    return in_classes(traffic, numbers, _WAYS, search, partial(_of_group, traffic, surely))


def _of_group(
    traffic: Traffic, surely: bool, comm: int, group: tuple[int, ...], messages: Indices
) -> list[Instance]:
    which = MessageClass(traffic, comm, group, messages)
    kinds = traffic.kind[messages]
    if (kinds == kinds[0]).all():
        return _surely(which) if surely else rooted(which) or mutual(which) or rings(which)
    return halving(which)


def _surely(which: MessageClass) -> list[Instance]:
    new = rooted(which, surely=True)
    if not new:
        new = [instance for instance in mutual(which) if instance.operation]
    return [instance for instance in new if instance.evidence != "weak"]
