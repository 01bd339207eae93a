"""News that are worth telling people, in words: with the table that changed, and the command that
shows more."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.daemon.fingerprint import FingerprintChange
from plumbline.daemon.recheck import of_alarm
from plumbline.system.words import counted
from plumbline_db.errors import typed
from plumbline_db.watch_records import CellAlarm, Retuning


class Told(msgspec.Struct, frozen=True):
    """`what`: one line; `table`: lines, a cell each; `command` shows more."""

    campaign: str
    what: str
    table: str
    command: str


def of_changes(campaign: str, changes: Sequence[FingerprintChange]) -> Told:
    stale = [change for change in changes if change.makes_stale]
    what = "its table is out of date" if stale else "what is in force has changed"
    table = "\n".join(change.text for change in changes)
    command = typed("campaign") if stale else typed("watch", "--status")
    return Told(campaign, f"{campaign}: {what}", table, command)


def of_alarms(campaign: str, judged: Sequence[CellAlarm]) -> Told | None:
    """Return those that are true; None: none is."""
    true = [alarm for alarm in judged if alarm.state in ("confirmed", "stays")]
    if not true:
        return None
    slower = [alarm for alarm in true if alarm.direction == "slower"]
    word = "slower" if slower else "faster"
    what = f"{campaign}: {counted(len(slower or true), 'cell')} {word} than was learnt"
    return Told(campaign, what, cells(true), typed("results", "--campaign", campaign))


def cells(judged: Sequence[CellAlarm]) -> str:
    return "\n".join(
        f"{of_alarm(alarm).named}: {alarm.ratio:.2f} times; {alarm.detail}" for alarm in judged
    )


def of_retuning(row: Retuning, opened_by: Sequence[CellAlarm], command: str) -> Told:
    state_words = {
        "nothing better": "searched, and nothing better was found",
        "offered": "something better was found",
        "applied": f"generation {row.generation} was applied, and is to be confirmed",
        "kept": f"generation {row.generation} is applied and confirmed",
        "rolled back": f"generation {row.generation} was rolled back",
        "failed": "the search failed",
    }.get(row.state, row.state)
    table = f"{row.because}\n{cells(opened_by)}\n{row.detail}".strip()
    return Told(row.campaign, f"{row.campaign}: {state_words}", table, command)


def of_error(campaign: str, step: str, error: str) -> Told:
    what = f"{campaign}: {step} failed"
    return Told(campaign, what, error, typed("watch", "--status"))
