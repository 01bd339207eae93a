"""How long a campaign may go on: time inside launches, which comes out the same at a replay."""

from __future__ import annotations

from plumbline.measure import Laboratory
from plumbline.settings import BUDGET_SECONDS, Settings

TOO_FEW = "round not opened"  # the kind of the event

_MOST = 4  # times the budget that nobody named


class Budget:
    """`until_seconds`: no search is opened later. The usual budget grows by half each time that a
    search has found something, up to _MOST times; one that is asked for stays as it is."""

    def __init__(self, lab: Laboratory, settings: Settings) -> None:
        self.until_seconds = settings.budget_seconds
        self._lab = lab
        self._asked = self.until_seconds
        self._step = self.until_seconds / 2 if self.until_seconds == BUDGET_SECONDS else 0.0
        self._most = _MOST * self.until_seconds

    def left(self) -> bool:
        return self._lab.spent_seconds < self.until_seconds

    def has_room(self, seconds: float) -> bool:
        """Whether so much more comes to its end within what the budget was at first, and half of it
        where that may grow."""
        return self._lab.spent_seconds + seconds <= self._asked + self._step

    def earned(self) -> None:
        """A search has found something."""
        self.until_seconds = min(self._most, self.until_seconds + self._step)
