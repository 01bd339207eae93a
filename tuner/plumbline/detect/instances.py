"""The word of a detector: one time that ranks did together what a collective does, or nearly so."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np

from plumbline.detect.columns import Indices
from plumbline.detect.traffic import Traffic

Evidence = Literal["proved", "assumed", "weak"]

# An exchange of fewer ranks is a message, not a collective.
SMALLEST_GROUP = 3


class Instance(msgspec.Struct, frozen=True):
    """`messages` are in the order of their sends. `group` and `roots` are world ranks; of several
    roots each may have been it. `bytes` is what MPI calls the size: what each rank gives (gather),
    gets (scatter), or both; of an irregular one the total. `evidence`: *assumed* where a term that
    was never sent had to be inferred, *weak* where only what follows can make it a collective.
    `missing`: of an incomplete one, the ranks that had no part."""

    collective: str
    comm: int
    group: tuple[int, ...]
    messages: tuple[int, ...]
    bytes: int
    roots: tuple[int, ...] = ()
    irregular: bool = False
    operation: str = ""
    evidence: Evidence = "proved"
    missing: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def coverage(self) -> float:
        """The share of the group that had a part."""
        return len(self.group) / (len(self.group) + len(self.missing))


def last_received(traffic: Traffic, instance: Instance) -> int:
    return int(traffic.received[list(instance.messages)].max())


def messages_of(instances: Iterable[Instance]) -> Indices:
    """All messages of all of them, one behind the other."""
    every = itertools.chain.from_iterable(instance.messages for instance in instances)
    return np.fromiter(every, np.int64)


def in_order(messages: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(messages)))
