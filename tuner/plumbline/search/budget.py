"""How long a campaign may go on: time inside launches, which comes out the same at a replay."""

from __future__ import annotations

import math
from collections.abc import Callable

from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline.system.words import counted

# Kinds of events: so few cells that they are not worth a round; cells that nothing is left for.
TOO_FEW, NO_TIME = "round not opened", "budget used up"
NOT_ASKED = "not searched"  # cells without a violation, which --all searches

_TABLES = 4  # times what the first table has cost, where nobody named a budget
_MOST = 4  # times what the usual budget is at first


class _Limit:
    """`until_seconds`: no search is opened later. The usual budget is at first several times what
    the table of the library as it is has cost, so that it suits launches of any length; it grows by
    half each time that a search has found something, up to _MOST times. One that is asked for stays
    as it is."""

    def __init__(self, settings: Settings) -> None:
        self.until_seconds = self._first = settings.budget
        self._usual = settings.search.budget_seconds is None

    def measured(self, table_seconds: float) -> None:
        if self._usual:
            self._first = max(self._first, _TABLES * table_seconds)
            self.until_seconds = self._first

    def has_room(self, until: float) -> bool:
        return until <= self._first

    def earned(self) -> None:
        if self._usual:
            self.until_seconds = min(_MOST * self._first, self.until_seconds + self._first / 2)


class Budget:
    """`earlier` are the settings by which stored launches were decided upon: where these would have
    answered otherwise, `parted` is told, once, and they count no more."""

    def __init__(
        self,
        store: LaunchStore,
        settings: Settings,
        *,
        earlier: Settings | None = None,
        parted: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._limit = _Limit(settings)
        self._earlier = None if earlier is None else _Limit(earlier)
        self._parted = parted
        self._cells, self._seconds = 0, 0.0  # of searches so far

    def measured(self) -> None:
        """The table of the library as it is has come to its end."""
        for limit in self._limits():
            limit.measured(self._store.spent_seconds)
        self._expect()

    def left(self) -> bool:
        return self._says(lambda one: self._store.spent_seconds < one.until_seconds)

    def has_room(self, seconds: float) -> bool:
        """Whether so much more comes to its end within what the budget was at first."""
        return self._says(lambda one: one.has_room(self._store.spent_seconds + seconds))

    def part(self, share: float) -> Callable[[], bool]:
        """Whether a share of it is left, counted from now."""
        begun = self._store.spent_seconds
        return lambda: self._says(
            lambda one: self._store.spent_seconds - begun < share * one.until_seconds
        )

    def earned(self) -> None:
        """A search has found something."""
        for limit in self._limits():
            limit.earned()
        self._expect()

    def _expect(self) -> None:
        self._store.progress.expect(self._limit.until_seconds - self._store.spent_seconds)

    def searched(self, cells: int, begun: float) -> None:
        """So many cells, since launches had taken `begun` seconds."""
        self._cells += cells
        self._seconds += self._store.spent_seconds - begun

    def not_searched(self, cells: int) -> str:
        """What is left, and what it would take, as far as searches have shown what a cell takes."""
        said = f"{counted(cells, 'cell')} not searched"
        if not self._cells:
            return f"{said}; --budget asks for it"
        seconds = cells * self._seconds / self._cells
        until = math.ceil(self._store.spent_seconds + seconds)
        return f"{said}, about {seconds:.0f} s of launches; --budget {until} goes on from here"

    def _limits(self) -> list[_Limit]:
        return [self._limit] if self._earlier is None else [self._limit, self._earlier]

    def _says(self, of: Callable[[_Limit], bool]) -> bool:
        answer = of(self._limit)
        if self._earlier is not None and of(self._earlier) != answer:
            self._earlier = None
            self._parted()
        return answer
