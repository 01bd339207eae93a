"""A class of messages that may go round in phases, and its good phases: those that end as they
should."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from plumbline.detect.knowledge import Phase, phases
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
    messages: Sequence[int]
    memo: Memo

    @property
    def everybody(self) -> int:
        return (1 << len(self.group)) - 1

    def good(self, name: str, rooted: bool, is_good: Callable[[Phase], bool]) -> list[Phase]:
        """The good phases, where at least EXPLAINED of the class are in one; `name`: of what they
        are good for. A class is given up early that does not begin with any."""
        listed = self.messages
        key = (name, self.group, len(listed), listed[0], listed[-1], sum(listed))
        if not self.memo.get(key, True):
            return []
        first = listed[: GLANCE * len(self.group)]
        share = EXPLAINED / 2 if len(first) < len(listed) else EXPLAINED
        found = self._good(first, rooted, is_good, share)
        if found and len(first) < len(listed):
            found = self._good(listed, rooted, is_good, EXPLAINED)
        self.memo[key] = bool(found)
        return found

    def _good(
        self,
        messages: Sequence[int],
        rooted: bool,
        is_good: Callable[[Phase], bool],
        share: float,
    ) -> list[Phase]:
        found = phases(self.traffic, messages, self.group, rooted=rooted)
        good = [phase for phase in found if is_good(phase)]
        explained = sum(len(phase.messages) for phase in good)
        return good if explained >= share * len(messages) else []
