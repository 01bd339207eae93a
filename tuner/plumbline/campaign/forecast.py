"""A forecast of how far a campaign is and how long it will probably take, learnt from what it
measures. Pure."""

from __future__ import annotations

import math

# Seconds of each phase over those of the first one, as campaigns of all functions have them.
_USUAL = (1.0, 0.4, 1.6, 2.3, 1.7)
_LOOKS = 3.0  # launches of the first table, over those of its first look
_MORE = 0.2  # what a phase still takes, over what it took, when it is longer than usual


class Forecast:
    """Seconds are those inside launches. `launches`: of the first look at the first table."""

    def __init__(self, launches: int) -> None:
        self._first_launches = launches
        self._launches = 0
        self._spent = [0.0] * len(_USUAL)  # by phase
        self._phase, self._of = 1, 1
        self._limit = math.inf  # of the sum of `_spent`
        self._share = 0.0

    def begin(self, phase: int, of: int, spent_seconds: float) -> None:
        """Begin a phase, when launches of this campaign have taken `spent_seconds` in all. What is
        not known of earlier phases, as of a continued campaign, is added to the last one."""
        self._spent[self._phase - 1] += max(0.0, spent_seconds - sum(self._spent))
        self._phase, self._of = phase, of

    def launched(self, seconds: float) -> None:
        self._launches += 1
        self._spent[self._phase - 1] += seconds

    def limit(self, seconds: float) -> None:
        """Phases end after so many seconds from now on, as soon as they can."""
        self._limit = sum(self._spent) + max(0.0, seconds)

    @property
    def left(self) -> float | None:
        """The seconds that are likely to follow; None before the first launch."""
        if not any(self._spent):
            return None
        first = self._spent[0]
        if self._phase == 1:
            first = max(first, first / max(1, self._launches) * self._first_launches * _LOOKS)
        now = self._spent[self._phase - 1]
        rest = max(_USUAL[self._phase - 1] * first - now, _MORE * now)
        later = first * sum(_USUAL[self._phase : self._of])
        return min(rest + later, max(rest, self._limit - sum(self._spent)))

    @property
    def share(self) -> float:
        """Return which part of all is done, from 0 to 1; it never falls."""
        if (cells_left := self.left) is not None:
            spent = sum(self._spent)
            self._share = max(self._share, spent / (spent + cells_left))
        return self._share
