"""The time that a campaign may go on: time inside launches, which comes out the same at a
replay."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from plumbline.core.cell import Target
from plumbline.measure.exclusions import LIMIT
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline.system.words import counted

# Kinds of events: the time limit; cells that were left out because the budget was used up.

_TABLES = 12  # times what the first table has cost, where nobody named a budget
_OF_OTHERS = 1 / 2  # of the limit, for searches of cells that no guideline names
_WORTH_A_ROUND = 1 / 20  # of all cells: a round costs 8 to 20 % of a campaign, of one cell too
_CONFIRMED = 1.5  # times what it has cost: what comes after the first search, at least


class _Limit:
    """`until_seconds`: no launch begins later that can be left out. The usual one is several times
    what the table of the library as it is has cost, so that it suits launches of any length. One
    that is asked for stays as it is."""

    def __init__(self, settings: Settings) -> None:
        self.is_usual = settings.search.budget_seconds is None
        self._least = settings.budget
        self.until_seconds = math.inf if self.is_usual else settings.budget

    def measured(self, table_seconds: float) -> None:
        if self.is_usual:
            self.until_seconds = max(self._least, _TABLES * table_seconds)


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
        self._stated = settings.budget
        weighed = settings.cases.profile is not None and not self._limit.is_usual
        self._of_others = 1.0 if weighed else _OF_OTHERS
        self._cells, self._seconds = 0, 0.0  # of searches so far
        self._largest = 0, 0.0  # the same of the one that took longest
        self._kept = 0.0  # seconds that are kept for the launches after a search
        self._turn = 0.0  # seconds of the longest confirmation

    def measured(self) -> None:
        """The table of the library as it is has come to its end."""
        for limit in self._limits():
            limit.measured(self._store.spent_seconds)
        self._kept = _CONFIRMED * self._store.spent_seconds
        limit_seconds = self._limit.until_seconds
        if limit_seconds > self._stated:
            text = f"{limit_seconds:.0f} s, as launches take long here (--budget)"
            self._store.tell(LIMIT, text)
            self._store.progress.step(f"{LIMIT}: {text}")
        self._expect()

    def confirmed(self, begun: float) -> None:
        """Winners were confirmed since launches had taken `begun` seconds, and the next ones may
        take as long."""
        self._turn = max(self._turn, self._store.spent_seconds - begun)
        self._kept = self._turn

    def left(self) -> bool:
        """Return whether a search may go on: what it finds has to be confirmed within the limit."""
        return self._says(
            lambda limit: self._store.spent_seconds + self._kept < limit.until_seconds
        )

    def has_room(self, cells: int) -> bool:
        """Return whether a search of so many cells may begin, and come to its end within the limit.
        It takes what the longest one so far took, or the part of it that fewer cells have."""
        return self._has_room(cells, 1.0)

    def has_room_for_others(self, cells: int, every: int) -> bool:
        """Return whether a search of so many of `every` cell may begin, if no violated guideline
        names them: they leave a part of the limit for the rounds to come. A round takes long for
        few cells, too, so that they are searched only within a limit that somebody asked for. Where
        an application has weighed the cells, they have all of such a limit."""
        return self._has_room(cells, self._of_others, few=cells < _WORTH_A_ROUND * every)

    def _has_room(self, cells: int, share: float, *, few: bool = False) -> bool:
        before, seconds = self._largest
        expected = seconds * min(1.0, cells / before) if before else 0.0
        needed = self._store.spent_seconds + self._kept + expected
        return self._says(
            lambda limit: not (few and limit.is_usual) and needed < share * limit.until_seconds
        )

    def is_open(self) -> bool:
        """Return whether launches may be added that make clearer what is known."""
        return self._says(lambda limit: self._store.spent_seconds < limit.until_seconds)

    def part(self, share: float) -> Callable[[], bool]:
        """Return whether a share of it is left, counted from now."""
        begun = self._store.spent_seconds
        return lambda: self._says(
            lambda limit: self._store.spent_seconds - begun < share * limit.until_seconds
        )

    def _expect(self) -> None:
        self._store.progress.expect(self._limit.until_seconds - self._store.spent_seconds)

    def searched(self, cells: int, begun: float) -> None:
        """So many cells, since launches had taken `begun` seconds."""
        took = self._store.spent_seconds - begun
        if took > self._largest[1]:
            self._largest = cells, took
        self._cells += cells
        self._seconds += took

    def not_searched(self, cells: Sequence[Target], *, named: bool) -> str:
        """Return what is left, and what it would take, as far as searches have shown what a cell
        takes. `named`: a violated guideline names some of the cells."""
        functions = Counter(cell.function for cell in cells)
        where = ", ".join(f"{name} ({count})" for name, count in sorted(functions.items()))
        text = f"{counted(len(cells), 'cell')} not searched: {where}"
        if not self._cells:
            return f"{text}; --budget asks for it"
        seconds = len(cells) * self._seconds / self._cells + self._kept
        share = 1.0 if named else self._of_others
        until = math.ceil((self._store.spent_seconds + seconds + self._kept) / share)
        return f"{text}; about {seconds:.0f} s of launches; --budget {until} goes on from here"

    def _limits(self) -> list[_Limit]:
        return [self._limit] if self._earlier is None else [self._limit, self._earlier]

    def _says(self, of: Callable[[_Limit], bool]) -> bool:
        answer = of(self._limit)
        if self._earlier is not None and of(self._earlier) != answer:
            self._earlier = None
            self._parted()
        return answer
