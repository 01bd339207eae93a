"""Messages that are answered at once, by as much of one's own: pairs of ranks that play ping-pong.
The same content sent to one partner after the other in this way is no broadcast."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from plumbline.detect.provenance import Provenance
from plumbline.detect.traffic import Traffic

Class = tuple[int, int, int]  # communicator, tag, kind


class Answers:
    """Of all messages, by class; made when it is first asked for one."""

    def __init__(self, traffic: Traffic, provenance: Provenance) -> None:
        self._traffic = traffic
        self._provenance = provenance
        self._members: dict[Class, list[int]] | None = None
        self._answered: dict[Class, set[int]] = {}

    def most(self, messages: Sequence[int]) -> bool:
        """Whether more than half of these were answered."""
        count = sum(message in self._of(self._class(message)) for message in messages)
        return 2 * count > len(messages)

    def _class(self, message: int) -> Class:
        traffic = self._traffic
        return traffic.comm[message], traffic.tag[message], traffic.kind[message]

    def _of(self, which: Class) -> set[int]:
        if self._members is None:
            self._members = defaultdict(list)
            for message in range(len(self._traffic)):
                self._members[self._class(message)].append(message)
        if which not in self._answered:
            self._answered[which] = _answered(self._traffic, self._provenance, self._members[which])
        return self._answered[which]


def _answered(traffic: Traffic, provenance: Provenance, messages: Sequence[int]) -> set[int]:
    """Those after which their sender's next thing is to receive from their receiver what that one
    has by himself."""
    events: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for message in messages:
        events[traffic.source[message]].append((traffic.sent[message], message))
        events[traffic.target[message]].append((traffic.received[message], message))
    found = set()
    for rank, listed in events.items():
        listed.sort()
        for (_, left), (_, right) in itertools.pairwise(listed):
            sends = traffic.source[left] == rank
            if sends and traffic.target[right] == rank:
                origins = {provenance.items[item].origin for item, _, _ in provenance.parts[right]}
                if traffic.source[right] == traffic.target[left] and origins == {
                    traffic.source[right]
                }:
                    found.add(left)
    return found
