"""A class of messages that may go round in phases, and its good phases: those that end as they
should."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from plumbline.detect.columns import Indices, Mask
from plumbline.detect.knowledge import Phases, phases
from plumbline.detect.traffic import Traffic

# A class is explained by a collective where at least this share of it is.
EXPLAINED = 0.5
# Messages by rank after which a class is given up that has no good phases.
GLANCE = 32

Memo = dict[tuple[object, ...], bool]


class MessageClass(msgspec.Struct, frozen=True, eq=False):
    """Messages of a group that have something in common: size and call site, or tag. `memo`:
    whether messages that were looked at before have good phases."""

    traffic: Traffic
    comm: int
    group: tuple[int, ...]
    messages: Indices
    memo: Memo

    @property
    def says_one_thing(self) -> bool:
        content = self.traffic.content[self.messages]
        return bool((content == content[0]).all())

    def good(self, name: str, rooted: bool, is_good: Callable[[Phases], Mask]) -> Phases | None:
        """The good phases, where at least EXPLAINED of the class are in one; `name`: of what they
        are good for. A class is given up early that does not begin with any."""
        listed = self.messages
        key = (name, self.group, len(listed), int(listed[0]), int(listed[-1]), int(listed.sum()))
        if not self.memo.get(key, True):
            return None
        first = listed[: GLANCE * len(self.group)]
        share = EXPLAINED / 2 if len(first) < len(listed) else EXPLAINED
        found = self._good(first, rooted, is_good, share)
        if found is not None and len(first) < len(listed):
            found = self._good(listed, rooted, is_good, EXPLAINED)
        self.memo[key] = found is not None
        return found

    def _good(
        self, messages: Indices, rooted: bool, is_good: Callable[[Phases], Mask], share: float
    ) -> Phases | None:
        every = phases(self.traffic, messages, self.group, rooted=rooted)
        good = every.picked(is_good(every))
        return good if len(good) and len(good.messages.at) >= share * len(messages) else None

    def distinct(self, values: Indices, good: Phases) -> Indices:
        """By phase: how many different ones there are among the values of its messages."""
        order = np.lexsort((values, good.messages.owners))
        new = np.ones(len(values), np.int64)
        new[1:] = values[order[1:]] != values[order[:-1]]
        new[good.messages.first[:-1]] = 1
        return np.add.reduceat(new, good.messages.first[:-1])
