"""A class of messages that may go round in phases."""

from __future__ import annotations

import msgspec
import numpy as np

from plumbline.detect.columns import Indices
from plumbline.detect.knowledge import Phases, Way, phases
from plumbline.detect.traffic import Traffic


class MessageClass(msgspec.Struct, frozen=True, eq=False):
    """Messages of a group that have something in common: size and call site, or tag."""

    traffic: Traffic
    comm: int
    group: tuple[int, ...]
    messages: Indices

    @property
    def says_one_thing(self) -> bool:
        content = self.traffic.content[self.messages]
        return bool((content == content[0]).all())

    def good(self, way: Way) -> Phases | None:
        return phases(self.traffic, self.messages, self.group, way)

    def distinct(self, values: Indices, good: Phases) -> Indices:
        """By phase: how many different ones there are among the values of its messages."""
        order = np.lexsort((values, good.messages.owners))
        new = np.ones(len(values), np.int64)
        new[1:] = values[order[1:]] != values[order[:-1]]
        new[good.messages.first[:-1]] = 1
        return np.add.reduceat(new, good.messages.first[:-1])
