"""Removal by age, for `plumbline watch`, so that a database does not grow for ever: launches of old
canaries, then the rows that tell of them. Nothing that a campaign has measured goes."""

from __future__ import annotations

import msgspec

from plumbline_db.statements import Statements


class Pruned(msgspec.Struct, frozen=True):
    """`first` and `last`: times of day at which the canaries were begun whose launches are gone;
    `rows`: of canaries, alarms, notices and days that are told of no more."""

    canaries: int = 0
    launches: int = 0
    first: str = ""
    last: str = ""
    rows: int = 0


def launches(db: Statements, before: str, most: int) -> Pruned:
    """Removes the launches of at most `most` canaries that ended before that time of day, the
    oldest first; their rows stay, and say so."""
    with db.transaction():
        old = db.rows(
            """SELECT number, campaign, stage, round, started FROM canary
               WHERE started < :before AND NOT pruned AND outcome <> 'under way'
               ORDER BY number LIMIT :most""",
            {"before": before, "most": most},
        )
        removed = 0
        for number, campaign, stage, round, _ in old:
            removed += _remove(db, campaign, stage, round)
            db.rows("UPDATE canary SET pruned = 1 WHERE number = :number", {"number": number})
    if not old:
        return Pruned()
    return Pruned(len(old), removed, old[0][-1], old[-1][-1])


def _remove(db: Statements, campaign: str, stage: str, round: int) -> int:
    """The launches of one canary, with their suites."""
    key = {"campaign": campaign, "stage": stage, "round": round}
    suites = (
        "SELECT number FROM suite WHERE campaign = :campaign AND stage = :stage AND round = :round"
    )
    runs = f"SELECT number FROM run WHERE suite IN ({suites})"  # noqa: S608
    db.rows(f"DELETE FROM cell_time WHERE run IN ({runs})", key)  # noqa: S608
    ids = db.rows(f"SELECT id FROM run WHERE suite IN ({suites})", key)  # noqa: S608
    for (id,) in ids:
        db.rows("DELETE FROM event WHERE run = :id", {"id": id})
    db.rows(f"DELETE FROM run WHERE suite IN ({suites})", key)  # noqa: S608
    db.rows(f"DELETE FROM suite WHERE number IN ({suites})", key)  # noqa: S608
    return len(ids)


def rows(db: Statements, before: str) -> int:
    """Removes what tells of what was done with before that time of day: canaries whose launches
    are gone and that no alarm names, alarms, searches, notices, days."""
    gone = 0
    with db.transaction():
        for statement in (
            "DELETE FROM alarm WHERE ended <> '' AND ended < :before",
            """DELETE FROM retuning WHERE ended <> '' AND ended < :before
               AND number NOT IN (SELECT retuning FROM alarm WHERE retuning IS NOT NULL)""",
            """DELETE FROM canary WHERE pruned AND started < :before
               AND number NOT IN (SELECT canary FROM alarm)""",
            "DELETE FROM notice WHERE time < :before",
            "DELETE FROM watch_day WHERE day < substr(:before, 1, 10)",
        ):
            gone += len(db.rows(statement + " RETURNING 1", {"before": before}))
    return gone
