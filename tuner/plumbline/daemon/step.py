"""The next step for a campaign that is watched: one function, of what is known. Pure.

Each step ends in the database. So after a kill what is known is what was known, and the same step
is taken again, which finds what is there of it."""

from __future__ import annotations

from enum import Enum

import msgspec

from plumbline_db.errors import command_name


class DaemonStep(Enum):
    """`CAMPAIGN`: the whole of it, for a table that is missing or out of date. `CONFIRM`: what was
    applied is measured, and kept or rolled back. `CANARY`: one, or the rest of one. `RECHECK`:
    alarms are confirmed or refuted. `SEARCH`: the cells of confirmed alarms are searched, and what
    is found is put in force. `WAIT`: nothing."""

    CAMPAIGN = "campaign"
    CONFIRM = "confirm"
    CANARY = "canary"
    RECHECK = "recheck"
    SEARCH = "search"
    WAIT = "wait"


class Situation(msgspec.Struct, frozen=True):
    """`table`: there is a finished campaign; `stale`: why its table is not of what is there. `may…`
    as the configuration says. `why_not`: nothing may be measured now. `under_way`: a canary was
    begun. `raised`, `confirmed`: alarms that are so. `searching`: a search was opened; `applied`:
    what one has found, and nobody confirmed. `due`: a canary is."""

    table: bool = True
    stale: str = ""
    may_run_whole: bool = False
    may_search: bool = True
    why_not: str = ""
    under_way: bool = False
    raised: bool = False
    confirmed: bool = False
    searching: bool = False
    applied: bool = False
    due: bool = False


class Next(msgspec.Struct, frozen=True):
    """`because`: why it waits, where something would be done but for that; else empty."""

    step: DaemonStep
    because: str = ""


NO_TABLE = f"no campaign is finished: run `{command_name()} campaign`, or set search.whole"


def following(situation: Situation) -> Next:
    """Return the next step: what was applied is confirmed before anything else is done. Alarms go
    before canaries: what is being confirmed is not to be learnt."""
    step = _wanted(situation)
    if step is DaemonStep.WAIT:
        return Next(step, _missing(situation))
    if situation.why_not:
        return Next(DaemonStep.WAIT, situation.why_not)
    return Next(step)


def _wanted(situation: Situation) -> DaemonStep:
    if not situation.table or situation.stale:
        return DaemonStep.CAMPAIGN if situation.may_run_whole else DaemonStep.WAIT
    if situation.applied:
        return DaemonStep.CONFIRM
    if situation.under_way:
        return DaemonStep.CANARY
    if situation.raised:
        return DaemonStep.RECHECK
    if situation.searching or (situation.confirmed and situation.may_search):
        return DaemonStep.SEARCH
    return DaemonStep.CANARY if situation.due else DaemonStep.WAIT


def _missing(situation: Situation) -> str:
    if not situation.table:
        return NO_TABLE
    if situation.stale:
        return f"{situation.stale}: run `{command_name()} campaign`, or set search.whole"
    return ""
