"""Which rounds of a campaign stand: the number of violations never rises from one to the next.

A round is a table that was measured to its end with the winners of that moment in force. One with
more violations than the last that stands is not kept: the searches that its new violations open
come first, and if these remain, the winners that raised them are undone (search/order.py says
which). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.core.configuration import Configuration
from plumbline_db.records import Verdict, Winner

from .order import Order
from .ranges import cut_back

Violation = tuple[str, str, int]


class Round(msgspec.Struct, frozen=True):
    """`stage`: the name of its table; `before` has no winners."""

    stage: str
    winners: list[Winner]
    table: list[Verdict]


def violations(table: Sequence[Verdict]) -> dict[Violation, Verdict]:
    return {
        (verdict.guideline, verdict.function, verdict.bytes): verdict
        for verdict in table
        if verdict.verdict == "violated"
    }


def choice(winner: Winner) -> tuple[str, str, Configuration]:
    """What is chosen, for whatever sizes."""
    return winner.function, winner.variant, Configuration.of(winner.configuration)


def is_part(winner: Winner, whole: Winner) -> bool:
    """Whether `winner` is `whole`, or a part of its sizes."""
    inside = whole.bytes_from <= winner.bytes_from and winner.bytes_to <= whole.bytes_to
    return inside and choice(winner) == choice(whole)


class FixedPoint:
    """The rounds that stand, the last one first in `rounds`."""

    def __init__(self, before: Sequence[Verdict], order: Order) -> None:
        self._order = order
        self.rounds = [Round("before", [], list(before))]

    @property
    def last(self) -> Round:
        return self.rounds[0]

    def enter(self, stage: str, winners: Sequence[Winner], table: Sequence[Verdict]) -> bool:
        """Whether the round stands."""
        if len(violations(table)) > len(violations(self.last.table)):
            return False
        self.rounds.insert(0, Round(stage, list(winners), list(table)))
        return True

    def withdraw(self, dropped: Sequence[Winner]) -> list[Round]:
        """A winner that loses its place takes along the rounds that it was in force in; they are
        returned."""
        gone = [
            settled
            for settled in self.rounds
            if any(is_part(lost, winner) for lost in dropped for winner in settled.winners)
        ]
        self.rounds = [settled for settled in self.rounds if settled not in gone]
        return gone

    def stands(self, winners: Sequence[Winner]) -> bool:
        """Whether the last round that stands is the one with these winners."""
        mine, theirs = (
            sorted((choice(winner), winner.bytes_from, winner.bytes_to) for winner in one_round)
            for one_round in (winners, self.last.winners)
        )
        return mine == theirs

    def culprits(self, winners: Sequence[Winner], table: Sequence[Verdict]) -> list[Winner]:
        """Of the winners that are new since the last round that stands, those that raised more
        violations than they removed; the worst one where none did alone; all where no violation is
        owed to one."""
        old, now = violations(self.last.table), violations(table)
        new = self._new(winners)
        raised = {id(winner): 0 for winner in new}
        for key in now.keys() - old.keys():
            for winner in self._order.raised_by(now[key], winners):
                if id(winner) in raised:
                    raised[id(winner)] += 1
        balance = {
            id(winner): raised[id(winner)]
            - sum(
                winner.function == function and winner.bytes_from <= size <= winner.bytes_to
                for _, function, size in old.keys() - now.keys()
            )
            for winner in new
        }
        guilty = [winner for winner in new if raised[id(winner)] and balance[id(winner)] > 0]
        if not guilty and any(raised.values()):
            guilty = [
                max((winner for winner in new if raised[id(winner)]), key=lambda x: balance[id(x)])
            ]
        return guilty or new

    def without(self, culprits: Sequence[Winner], winners: Sequence[Winner]) -> list[Winner]:
        """Those of the last round that stands, with what else is new but the culprits."""
        left = [winner for winner in self._new(winners) if winner not in culprits]
        return cut_back(self.last.winners, left) + left

    def _new(self, winners: Sequence[Winner]) -> list[Winner]:
        return [
            winner
            for winner in winners
            if not any(is_part(winner, old) for old in self.last.winners)
        ]
