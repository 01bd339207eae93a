"""Instances that are not believed in the end, because of what else is sent from the same lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plumbline.detect import operators
from plumbline.detect.columns import Indices, numbered, rows
from plumbline.detect.instances import Instance
from plumbline.detect.personal import LARGE
from plumbline.detect.recording import PAYLOAD
from plumbline.detect.traffic import Traffic

# At least this share of what a source line sends must belong to collectives if they look like
# something else; the second value is for few ranks.
EXPLAINED, HARDLY_ANY = 2 / 3, 0.05

_OF_CONTACTS = frozenset({"alltoall", "allgather", "barrier"})


def believed(traffic: Traffic, instances: Sequence[Instance]) -> list[Instance]:
    """On few ranks all others are contacts: what each rank tells all others is no collective where
    it comes from a line that mostly tells some of them. What is handed on of objects, whose values
    nobody knows, may be the larger one of two: it is no broadcast where it comes from a line that
    mostly sends, with the same tag, what is not handed on."""
    believed_instances = list(instances)
    while believed_instances:
        doubted = _doubted(traffic, believed_instances)
        if not doubted:
            break
        believed_instances = [
            instance for at, instance in enumerate(believed_instances) if at not in doubted
        ]
    return believed_instances


def _doubted(traffic: Traffic, instances: Sequence[Instance]) -> set[int]:
    messages, lines = rows(instance.messages for instance in instances), traffic.lines
    claimed = np.zeros(len(traffic), bool)
    claimed[messages.at] = True

    def explained(number: Indices) -> npt.NDArray[np.float64]:
        """Return by instance: how much of what its lines send. Where these are not known, all of
        it."""
        share = np.bincount(number, claimed) / np.bincount(number)
        of_message = np.where(lines < 0, 1.0, share[number])[messages.at]
        return np.asarray(np.add.reduceat(of_message, messages.first[:-1]) / messages.lengths)

    of_line = explained(numbered(lines, np.zeros_like(lines)))
    of_tag = explained(numbered(lines, traffic.tag))
    return {
        at
        for at in np.flatnonzero(np.minimum(of_line, of_tag) < EXPLAINED).tolist()
        if of_line[at] < _least_of_line(traffic, instances[at])
        or (of_tag[at] < EXPLAINED and _is_of_objects(traffic, instances[at]))
    }


def _least_of_line(traffic: Traffic, instance: Instance) -> float:
    if len(instance.group) >= LARGE:
        return 0.0
    linear = instance.collective == "bcast" and not _is_handed_on(traffic, instance)
    return EXPLAINED if linear or instance.collective in _OF_CONTACTS else HARDLY_ANY


def _is_of_objects(traffic: Traffic, instance: Instance) -> bool:
    return (
        instance.collective == "bcast"
        and instance.bytes <= PAYLOAD
        and int(traffic.element[instance.messages[0]]) not in operators.NUMERIC
        and _is_handed_on(traffic, instance)
    )


def _is_handed_on(traffic: Traffic, instance: Instance) -> bool:
    sources = traffic.source[list(instance.messages)]
    return bool((sources != sources[0]).any())
