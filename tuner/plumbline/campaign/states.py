"""The states of a campaign: its steps, the one function that leads from one to the next, the loop
that takes them, and the rounds of its search.

Why this comes to an end: docs/design/search.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from plumbline.core.winner import is_part
from plumbline.measure.launches import LaunchStore
from plumbline_db.records import Campaign, Verdict, Winner

# The rounds of a campaign. A round is a table that was measured to its end with the winners of that
# moment in force. Pure.

_Violation = tuple[str, str, int]


class _Round(msgspec.Struct, frozen=True):
    """`stage`: the name of its table; `before` has no winners."""

    stage: str
    winners: list[Winner]
    table: list[Verdict]


def violations(table: Sequence[Verdict]) -> dict[_Violation, Verdict]:
    return {
        (verdict.guideline, verdict.function, verdict.bytes): verdict
        for verdict in table
        if verdict.verdict == "violated"
    }


class FixedPoint:
    """The rounds, the last one first in `rounds`."""

    def __init__(self, before: Sequence[Verdict]) -> None:
        self.rounds = [_Round("before", [], list(before))]

    @property
    def last(self) -> _Round:
        return self.rounds[0]

    def enter(self, stage: str, winners: Sequence[Winner], table: Sequence[Verdict]) -> None:
        self.rounds.insert(0, _Round(stage, list(winners), list(table)))

    def withdraw(self, dropped: Sequence[Winner]) -> list[_Round]:
        """A winner that loses its place takes along the rounds that it was in force in; they are
        returned."""
        withdrawn = [
            settled
            for settled in self.rounds
            if any(is_part(lost, winner) for lost in dropped for winner in settled.winners)
        ]
        self.rounds = [settled for settled in self.rounds if settled not in withdrawn]
        return withdrawn


class CampaignStep(Enum):
    """`BEFORE`: the table of the library as it is. `SEARCH`: cells that the last table asks for.
    `SETTINGS`: those of the process as a whole. `CONFIRM`: winners are tried, exported, and the
    table is measured with them. `END`: the last round is kept."""

    BEFORE = "before"
    SEARCH = "search"
    SETTINGS = "settings"
    CONFIRM = "confirm"
    END = "end"


PHASES = ("measure", "settings", "search", "confirm", "further rounds")
"""What people are told of a campaign."""


def phase(step: CampaignStep, before: int) -> int:
    """Return the number of the phase that a step belongs to, from 1 on; `before` is that of the
    step before. Settings are confirmed in their own phase, and what follows the winners of the
    first search is the last phase."""
    if step is CampaignStep.BEFORE:
        return 1
    if before >= 4 and step is not CampaignStep.END:
        return 5
    own = {
        CampaignStep.SETTINGS: 2,
        CampaignStep.SEARCH: 3,
        CampaignStep.CONFIRM: 2 if before == 2 else 4,
    }
    return max(before, own.get(step, before))


class Standing(msgspec.Struct, frozen=True):
    """The standing of a campaign after a step. `winners`: it has some (after the first step: of an
    earlier campaign). `changed`: the table was measured with other ones. `opened`: the last search
    opened cells. `may_search`: rounds are left. `may_set`: settings of the process are to be tried
    yet, `sets_first`: before any search. `searches_first`: the winners of an earlier campaign are
    confirmed together with those of the first search."""

    winners: bool
    changed: bool
    opened: bool
    may_search: bool
    may_set: bool
    sets_first: bool = False
    searches_first: bool = False


def after(done: CampaignStep, now: Standing, has_time: Callable[[], bool]) -> CampaignStep:
    """The next step. `has_time` is asked only where the answer matters: a campaign with a larger
    budget takes up what is stored up to the first answer that is another one."""
    unconfirmed = now.changed and now.winners
    sets = now.may_set and now.sets_first and not unconfirmed
    if done is CampaignStep.BEFORE and sets and has_time():
        return CampaignStep.SETTINGS
    opened = done is CampaignStep.SEARCH and now.opened
    if unconfirmed and (opened or (done is CampaignStep.BEFORE and not now.searches_first)):
        return CampaignStep.CONFIRM
    begins = opened or done in (CampaignStep.BEFORE, CampaignStep.CONFIRM)
    begins |= done is CampaignStep.SETTINGS and now.sets_first and not unconfirmed
    if begins and now.may_search and has_time():
        return CampaignStep.SEARCH
    if not now.changed and now.may_set and not now.sets_first and has_time():
        return CampaignStep.SETTINGS
    return CampaignStep.CONFIRM if unconfirmed else CampaignStep.END


class Steps(Protocol):
    """The steps of one kind of campaign: collectives (loop.py), overlap (overlap/tune.py)."""

    def take(self, step: CampaignStep) -> None:
        """Any but the end."""
        ...

    def standing(self) -> Standing: ...

    def has_time(self) -> bool: ...

    def end(self) -> Campaign: ...


def run(steps: Steps, store: LaunchStore, *, searches: bool) -> Campaign:
    """To the end. Everything a report needs is in the database afterwards. `searches`: it does more
    than measure the library as it is."""
    step, number = CampaignStep.BEFORE, 0
    of = len(PHASES) if searches else 1
    while step is not CampaignStep.END:
        number = phase(step, number)
        store.progress.phase(number, of, PHASES[number - 1], store.spent_seconds)
        steps.take(step)
        step = after(step, steps.standing(), steps.has_time)
    return steps.end()
