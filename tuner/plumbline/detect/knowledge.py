"""Whose contribution is known where, message by message, and when it is everybody's: what
reductions and barriers are made of. Sets of ranks are bits of integers, by place in the group."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.detect.traffic import Traffic


class Phase(msgspec.Struct):
    """One time that it went round. `known[m]`: who had contributed to message m when it was sent.
    `overlaps`: somebody was told of one contribution twice."""

    messages: list[int] = []
    known: dict[int, int] = {}
    complete: int = 0  # bits of the ranks that know everybody's
    overlaps: bool = False


def phases(
    traffic: Traffic, messages: Sequence[int], group: Sequence[int], *, rooted: bool
) -> list[Phase]:
    """The phases of a class of messages. Of a rooted one each rank but the root sends once, when
    it has what it waits for; else a phase ends for a rank when it knows of all others, and what it
    sends then only tells those that do not.

    Linear in messages, times the group's size in machine words."""
    tracing = _Tracing(traffic, group, rooted)
    points = sorted(
        [(traffic.sent[message], message, 0) for message in messages]
        + [(traffic.received[message], message, 1) for message in messages]
    )
    for _, message, received in points:
        if received:
            tracing.receive(message)
        else:
            tracing.send(message)
    return tracing.phases


class _Tracing:
    def __init__(self, traffic: Traffic, group: Sequence[int], rooted: bool) -> None:
        self.traffic, self.rooted = traffic, rooted
        self.place = {rank: at for at, rank in enumerate(group)}
        self.full = (1 << len(group)) - 1
        self.now = dict.fromkeys(group, 0)  # by rank: its phase
        self.known = {rank: 1 << at for rank, at in self.place.items()}
        self.stamps: dict[int, tuple[int, int]] = {}
        self.phases: list[Phase] = []
        self.types: dict[int, set[tuple[int, int, int]]] = {}  # by phase: channels and call sites

    def send(self, message: int) -> None:
        rank = self.traffic.source[message]
        if self.rooted and self.known[rank] == self.full:
            self._next(rank)
        self.stamps[message] = (self.now[rank], self.known[rank])
        if self.rooted:
            self._next(rank)

    def receive(self, message: int) -> None:
        rank = self.traffic.target[message]
        number, known = self.stamps[message]
        if self.known[rank] == self.full:
            if self._late(rank, message, number, known):
                return
            self._next(rank)
        if self.rooted:
            self._wait(rank, number)
        elif number > self.now[rank]:
            number, known = self.now[rank], self.full
        elif number < self.now[rank]:
            # Its sender was done with the last phase, and has come to this one.
            came = number == self.now[rank] - 1 and known == self.full
            known = 1 << self.place[self.traffic.source[message]] if came else 0
            number = self.now[rank]
        phase = self._phase(number)
        phase.messages.append(message)
        self._seen(number).add(self._type(message))
        phase.known[message] = known
        both = self.known[rank] & known
        phase.overlaps |= both not in (0, self.known[rank]) if known == self.full else both != 0
        self.known[rank] |= known
        if self.known[rank] == self.full:
            phase.complete |= 1 << self.place[rank]

    def _late(self, rank: int, message: int, number: int, known: int) -> bool:
        """Whether a message tells a rank what it knows already, and is no repetition: the last
        one of a ring that goes round twice."""
        if self.rooted or number != self.now[rank] or known != self.full:
            return False
        if self._type(message) in self._seen(number):
            return False
        self._phase(number).messages.append(message)
        self._phase(number).known[message] = known
        self._seen(number).add(self._type(message))
        return True

    def _type(self, message: int) -> tuple[int, int, int]:
        traffic = self.traffic
        return traffic.source[message], traffic.target[message], traffic.send_site[message]

    def _seen(self, number: int) -> set[tuple[int, int, int]]:
        return self.types.setdefault(number, set())

    def _wait(self, rank: int, number: int) -> None:
        """A rank of a rooted phase is told something: as long as it has not sent, of the phase
        that it is in, or of a later one where it has been told nothing yet."""
        if number < self.now[rank]:
            self._phase(number).overlaps = True
        elif number > self.now[rank]:
            if self.known[rank] != 1 << self.place[rank]:
                self._phase(self.now[rank]).overlaps = True
            self.now[rank], self.known[rank] = number, 1 << self.place[rank]

    def _next(self, rank: int) -> None:
        self.now[rank] += 1
        self.known[rank] = 1 << self.place[rank]

    def _phase(self, number: int) -> Phase:
        while len(self.phases) <= number:
            self.phases.append(Phase([], {}))
        return self.phases[number]
