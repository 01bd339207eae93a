"""What a campaign does next: its steps, the one function that leads from one to the next, and the
loop that takes them.

Why this comes to an end: docs/design/search.md."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

import msgspec

from plumbline_db.records import Campaign


class Step(Enum):
    """`BEFORE`: the table of the library as it is. `SEARCH`: cells that the last table asks for.
    `SETTINGS`: those of the process as a whole. `CONFIRM`: winners are tried, exported, and the
    table is measured with them. `END`: the last round is kept."""

    BEFORE = "before"
    SEARCH = "search"
    SETTINGS = "settings"
    CONFIRM = "confirm"
    END = "end"


class Standing(msgspec.Struct, frozen=True):
    """Where a campaign stands after a step. `winners`: it has some. `changed`: the table was
    measured with other ones. `opened`: the last search opened cells. `may_search`: rounds are left.
    `may_set`: settings of the process are to be tried yet, `sets_first`: before any search."""

    winners: bool
    changed: bool
    opened: bool
    may_search: bool
    may_set: bool
    sets_first: bool = False


def after(done: Step, now: Standing, has_time: Callable[[], bool]) -> Step:
    """The next step. `has_time` is asked only where the answer matters: a campaign with a larger
    budget takes up what is stored up to the first answer that is another one."""
    if done is Step.BEFORE and now.may_set and now.sets_first and has_time():
        return Step.SETTINGS
    unconfirmed = now.changed and now.winners
    opened = done is Step.SEARCH and now.opened
    if opened and unconfirmed:
        return Step.CONFIRM
    begins = opened or done in (Step.BEFORE, Step.CONFIRM)
    begins |= done is Step.SETTINGS and now.sets_first and not unconfirmed
    if begins and now.may_search and has_time():
        return Step.SEARCH
    if not now.changed and now.may_set and not now.sets_first and has_time():
        return Step.SETTINGS
    return Step.CONFIRM if unconfirmed else Step.END


class Steps(Protocol):
    """The steps of one kind of campaign: collectives (loop.py), overlap (overlap/tune.py)."""

    def take(self, step: Step) -> None:
        """Any but the end."""
        ...

    def standing(self) -> Standing: ...

    def has_time(self) -> bool: ...

    def end(self) -> Campaign: ...


def run(steps: Steps) -> Campaign:
    """To the end. Everything a report needs is in the database afterwards."""
    step = Step.BEFORE
    while step is not Step.END:
        steps.take(step)
        step = after(step, steps.standing(), steps.has_time)
    return steps.end()
