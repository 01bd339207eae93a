"""What is removed by age, once a day, and said."""

from __future__ import annotations

from datetime import datetime

from plumbline.daemon.configuration import Keeping
from plumbline.daemon.work import iso
from plumbline.system.words import counted
from plumbline_db import pruning, watching
from plumbline_db.connection import Database
from plumbline_db.watch_records import WatchDay

AT_ONCE = 200  # canaries; the rest in the next steps


class Removal:
    """Knows on which day it was done last."""

    def __init__(self) -> None:
        self._day = ""

    def once_a_day(self, db: Database, keeping: Keeping, now: datetime) -> list[str]:
        """Says what is gone."""
        today = iso(now)[:10]
        if today == self._day:
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
