"""What is removed by age, once a day, and said. A clock that has jumped makes everything old: then
it waits a day for somebody to put it right."""

from __future__ import annotations

from datetime import datetime, timedelta

from plumbline.daemon.configuration import Keeping
from plumbline.daemon.moments import iso, moment_of
from plumbline.system.words import counted
from plumbline_db import pruning, watching
from plumbline_db.connection import Database
from plumbline_db.watch_records import WatchDay

AT_ONCE = 200  # canaries; the rest in the next steps
# Since the last canary, or the last call; then so long is waited.
JUMP, WAIT = timedelta(days=7), timedelta(days=1)


class Removal:
    """Knows on which day it was done last."""

    def __init__(self) -> None:
        self._day = ""
        self._asked: datetime | None = None
        self._jumped: datetime | None = None

    def once_a_day(self, db: Database, keeping: Keeping, now: datetime) -> list[str]:
        """Says what is gone."""
        today = iso(now)[:10]
        if today == self._day:
            return []
        before = self._asked or _last_canary(db) or now
        self._asked = now
        if now - before > JUMP:
            self._jumped = now
            return [
                f"the clock is {(now - before).days} days after what was known last: nothing is "
                "removed by age for a day"
            ]
        if self._jumped is not None and self._jumped <= now < self._jumped + WAIT:
            return []
        launches, rows = keeping.ages
        gone = pruning.launches(db, iso(now - launches), AT_ONCE)
        if gone.canaries < AT_ONCE:
            self._day = today
        old = pruning.rows(db, iso(now - rows))
        said = []
        if gone.canaries:
            day = WatchDay(today, pruned_canaries=gone.canaries, pruned_launches=gone.launches)
            watching.add(db, day)
            said.append(
                f"removed by age: {counted(gone.launches, 'launch')} of "
                f"{gone.canaries} canaries that were begun from {gone.first} to {gone.last}"
            )
        if old:
            said.append(f"removed by age: {counted(old, 'row')} of older things")
        return said


def _last_canary(db: Database) -> datetime | None:
    return next((moment_of(canary.started) for _, canary in watching.canaries(db, last=1)), None)
