"""The next step for a campaign that is watched: one function, of what is known. Pure.

Each step ends in the database. So after a kill what is known is what was known, and the same step
is taken again, which finds what is there of it."""

from __future__ import annotations

from enum import Enum

import msgspec

from plumbline_db.errors import command_name


class Step(Enum):
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

    step: Step
    because: str = ""


NO_TABLE = f"there is no finished campaign: run `{command_name()} campaign`, or set search.whole"


def following(known: Situation) -> Next:
    """Return the next step: what was applied is confirmed before anything else is done. Alarms go
    before canaries: what is being confirmed is not to be learnt."""
    step = _wanted(known)
    if step is Step.WAIT:
        return Next(step, _missing(known))
    if known.why_not:
        return Next(Step.WAIT, known.why_not)
    return Next(step)


def _wanted(known: Situation) -> Step:
    if not known.table or known.stale:
        return Step.CAMPAIGN if known.may_run_whole else Step.WAIT
    if known.applied:
        return Step.CONFIRM
    if known.under_way:
        return Step.CANARY
    if known.raised:
        return Step.RECHECK
    if known.searching or (known.confirmed and known.may_search):
        return Step.SEARCH
    return Step.CANARY if known.due else Step.WAIT


def _missing(known: Situation) -> str:
    if not known.table:
        return NO_TABLE
    if known.stale:
        return f"{known.stale}: run `{command_name()} campaign`, or set search.whole"
    return ""
