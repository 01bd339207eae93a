"""What the launches of a step are told to: node-seconds are counted, the watchdog hears of each,
and a search gives way between two launches where it is not to go on."""

from __future__ import annotations

from collections.abc import Callable

from plumbline.daemon.work import Clock, iso
from plumbline_db import watching
from plumbline_db.connection import Database
from plumbline_db.records import Run
from plumbline_db.watch_records import WatchDay


class Paused(Exception):
    """A search stops between two launches, and goes on where it stands."""


class StepProgress:
    """`nodes` of a launch; `may_not`: why the step is to pause ("": it goes on); `alive` is called
    after each launch."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        nodes: int,
        alive: Callable[[], None] = lambda: None,
        may_not: Callable[[], str] = lambda: "",
    ) -> None:
        self._db = db
        self._clock = clock
        self._nodes = nodes
        self._alive = alive
        self._may_not = may_not

    def launched(self, suite: str, run: Run) -> None:
        del suite
        today = iso(self._clock())[:10]
        watching.add(self._db, WatchDay(today, node_seconds=run.seconds * self._nodes))
        self._alive()
        if why := self._may_not():
            raise Paused(why)

    def step(self, text: str) -> None:
        del text
        self._alive()

    def expect(self, seconds: float) -> None:
        del seconds
