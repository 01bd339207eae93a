"""The rounds of a campaign. A round is a table that was measured to its end with the winners of
that moment in force. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.core.winner import is_part
from plumbline_db.records import Verdict, Winner

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


class FixedPoint:
    """The rounds, the last one first in `rounds`."""

    def __init__(self, before: Sequence[Verdict]) -> None:
        self.rounds = [Round("before", [], list(before))]

    @property
    def last(self) -> Round:
        return self.rounds[0]

    def enter(self, stage: str, winners: Sequence[Winner], table: Sequence[Verdict]) -> None:
        self.rounds.insert(0, Round(stage, list(winners), list(table)))

    def withdraw(self, dropped: Sequence[Winner]) -> list[Round]:
        """A winner that loses its place takes along the rounds that it was in force in; they are
        returned."""
        withdrawn = [
            settled
            for settled in self.rounds
            if any(is_part(lost, winner) for lost in dropped for winner in settled.winners)
        ]
        self.rounds = [settled for settled in self.rounds if settled not in withdrawn]
        return withdrawn
