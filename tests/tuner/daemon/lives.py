"""A daemon's life from the first canary to the end of the search that a change opens, cut into
pieces by kill -9 at random moments."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from plumbline_db import connection, findings, runs, watching
from plumbline_db.records import Winner
from plumbline_db.watching import Retuning
from tests.tuner.daemon.processes import Daemon

LEARNT = 21  # canaries, from which on a change is found
_PATIENCE_SECONDS = 240.0


@dataclass
class Life:
    """`pause`: shortest and longest seconds from a start to its kill, of which there are `most`;
    the last start is left to its end. `change` makes cells slower; it is called again and again."""

    daemon: Daemon
    chance: random.Random
    pause: tuple[float, float]
    most: int = 1_000_000
    change: Callable[[], None] = lambda: None
    takes: float = 0.01
    kills: int = 0
    kept: list[str] = field(default_factory=list)

    def to_its_end(self) -> Retuning:
        """Of what was searched. Nothing that was stored is lost at a kill, and it is stored once;
        the file is whole."""
        while True:
            slower = self._canaries() >= LEARNT
            if slower:
                self.change()
            self.daemon.start(slower=slower, takes=self.takes)
            self.daemon.until("watching")
            if self.kills < self.most:
                time.sleep(self.chance.uniform(*self.pause))
                self.kills += 1
            else:
                self._wait(slower)
            self.daemon.end(signal.SIGKILL)
            if ended := self._look():
                assert connection.check(self.daemon.database) == []
                return ended

    def winners(self, row: Retuning) -> list[tuple[object, ...]]:
        with self.daemon.open() as db:
            return sorted(_decided(winner) for winner in findings.get_winners(db, row.search))

    def require_quiet(self, started: Callable[[], list[int]]) -> None:
        """No process that it has started is left, in the end."""
        end = time.monotonic() + _PATIENCE_SECONDS / 8
        while started():
            assert time.monotonic() < end, started()
            time.sleep(0.1)

    def _wait(self, slower: bool) -> None:
        """Until the change is due, or what it has opened has ended."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < end:
            if (ended := self._ended()) is not None and ended.ended:
                return
            if not slower and self._canaries() >= LEARNT:
                return
            time.sleep(0.2)
        raise AssertionError("it does not come to its end")

    def _canaries(self) -> int:
        if not self.daemon.database.exists():
            return 0
        with self.daemon.open() as db:
            taken = [one for _, one in watching.canaries(db) if one.stage == "canary"]
        return sum(one.outcome == "judged" for one in taken)

    def _ended(self) -> Retuning | None:
        with self.daemon.open() as db:
            found = [row for _, row in watching.retunings(db)]
        return found[0] if found and found[0].ended else None

    def _look(self) -> Retuning | None:
        with self.daemon.open() as db:
            watched = watching.watched(db)
            now = runs.listing(db, watched[0].campaign) if watched else []
            rounds = [one.round for _, one in watching.canaries(db) if one.stage == "canary"]
        assert len({(run.suite, run.sequence) for run in now}) == len(now)
        ids = [run.id for run in now]
        assert set(self.kept) <= set(ids), "a launch that was stored is lost"
        assert rounds == list(range(1, len(rounds) + 1))
        self.kept = ids
        return self._ended()


def _decided(winner: Winner) -> tuple[object, ...]:
    """Which algorithm for which sizes."""
    sizes = (winner.bytes_from, winner.bytes_to)
    return winner.function, *sizes, winner.variant, *sorted(winner.configuration.items())
