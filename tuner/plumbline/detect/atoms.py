"""Items cut where messages cut them: each atom is handed on as a whole, so that it can be said who
had it when."""

from __future__ import annotations

import functools

import msgspec
import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices, Rows
from plumbline.detect.provenance import Provenance
from plumbline.detect.traffic import Traffic


class Atoms(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A number an atom: bytes [low, high) of an item on one communicator. `messages` carried it, in
    causal order; `origin` had it first there; `group` numbers the origin and all ranks that they
    reached, which are `groups`; `keepers`: how many did not hand it on, and which one if it is
    one."""

    item: Indices
    origin: Indices
    low: Indices
    high: Indices
    address: Indices  # in the memory of the item's origin
    group: Indices
    keepers: Indices
    keeper: Indices
    messages: Rows
    groups: Rows

    def __len__(self) -> int:
        return len(self.item)

    @functools.cached_property
    def first_message(self) -> Indices:
        return self.messages.at[self.messages.first[:-1]]

    @functools.cached_property
    def sizes(self) -> Indices:
        """Return by group: its ranks."""
        return self.groups.lengths

    @functools.cached_property
    def members(self) -> list[tuple[int, ...]]:
        """Return by group."""
        return [tuple(self.groups[group].tolist()) for group in range(len(self.groups))]

    @functools.cached_property
    def passed(self) -> core.Passed:
        """`struct pl_atoms`."""
        return core.Passed(
            **{name: getattr(self, name) for name in _COLUMNS.split()},
            messages=self.messages.passed,
            groups=self.groups.passed,
        )

    def in_order(self, traffic: Traffic, which: Indices) -> Indices:
        """Return by their first sends, and by address of those that set out together."""
        first = traffic.sent[self.first_message[which]]
        return which[np.lexsort((self.low[which], first))]


_COLUMNS = "item origin low high address group keepers keeper"


def atoms(traffic: Traffic, provenance: Provenance) -> Atoms:
    """Return them in the order of their items' first sends."""
    items = provenance.items
    *columns, first, at, group_first, group_at = core.call(
        "pl_cut", traffic.passed, provenance.parts.passed, len(items), items.address
    )
    named = dict(zip(_COLUMNS.split(), columns, strict=True))
    return Atoms(**named, messages=Rows(first, at), groups=Rows(group_first, group_at))
