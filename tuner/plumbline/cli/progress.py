"""Progress of a command: on a terminal a bar, else a line a step and one a minute; and a forecast
of how long a campaign will take. On stderr.

One line of a terminal holds all of it; what has no room is cut with an ellipsis."""

from __future__ import annotations

import datetime
import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from plumbline.system.words import counted

from .common import console

if TYPE_CHECKING:
    from plumbline_db.records import Run

_SILENT_SECONDS = 60.0


class Bar:
    """Over what a `forecast` expects, or over a number of launches `in_all`, at most; without
    either only the launches are counted. `clock`: seconds that go on."""

    def __init__(
        self,
        *,
        in_all: int = 0,
        forecast: Forecast | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._clock = clock
        self._live = sys.stderr.isatty()
        self._in_all = in_all
        self._forecast = forecast
        self._seconds = 0.0
        self._launches = 0
        self._phase, self._text = "", "starting"
        self._begun = self._said = clock()
        has_share = in_all > 0 or forecast is not None
        share = (
            [BarColumn(bar_width=12), TextColumn("{task.percentage:>3.0f}%")] if has_share else []
        )
        shown = console(stderr=True)
        # Leave room for the ^C of a terminal: a line that wraps could not be erased at the end.
        shown.width = max(20, shown.width - len("^C "))
        self._progress = Progress(
            TextColumn("{task.fields[phase]}", markup=False, table_column=Column(no_wrap=True)),
            *share,
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[left]}", markup=False, table_column=Column(no_wrap=True)),
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=shown,
            expand=True,
            transient=True,
            disable=not self._live,
        )
        self._task = self._progress.add_task(
            self._text, total=100.0 if has_share else None, phase="", left=""
        )

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def launched(self, suite: str, run: Run) -> None:
        del suite  # a name inside the database
        self._launches += 1
        self._seconds += run.seconds
        if self._forecast is not None:
            self._forecast.launched(run.seconds)
        text = self._text if run.finished else f"{self._text}; a launch failed: {run.reason}"
        self._show(text)
        if not self._live and self._clock() - self._said >= _SILENT_SECONDS:
            self._say(text)

    def expect(self, seconds: float) -> None:
        """Launches may take so many seconds from now on."""
        if self._forecast is not None:
            self._forecast.limit(seconds)
            self._show(self._text)

    def phase(self, number: int, of: int, name: str, spent_seconds: float) -> None:
        """A phase begins: `3 of 5: search`."""
        if self._forecast is not None:
            self._forecast.begin(number, of, spent_seconds)
            self._phase = f"{number} of {of}: {name}" if of > 1 else ""
            self._show(self._text)

    def step(self, text: str) -> None:
        self._text = text
        self._show(text)
        if not self._live:
            self._say(text)

    def _show(self, text: str) -> None:
        time_left = self._left()
        self._progress.update(
            self._task,
            completed=100 * self._share(),
            description=text,
            phase=self._phase,
            left=f"{time_left} left" if time_left else counted(self._launches, "launch"),
        )

    def _share(self) -> float:
        if self._forecast is not None:
            return self._forecast.share
        return min(1.0, self._launches / self._in_all) if self._in_all else 0.0

    def _left(self) -> str:
        """`about 3:10`, of what is likely; `up to 3:10`, where a number of launches is the most;
        empty where nobody knows."""
        if not self._launches:
            return ""
        passed = self._clock() - self._begun  # between launches there is something to do as well
        if self._forecast is None:
            launches = self._in_all - self._launches
            return f"up to {_minutes(launches * passed / self._launches)}" if launches >= 0 else ""
        seconds = self._forecast.left
        if seconds is None or not self._seconds:
            return ""
        return f"about {_minutes(seconds * passed / self._seconds)}"

    def _say(self, text: str) -> None:
        self._said = self._clock()
        time_left = self._left()
        share = f"{100 * self._share():.0f} %" if time_left else ""
        launches = counted(self._launches, "launch") if self._launches else ""
        words = [share, launches, f"{time_left} left" if time_left else ""]
        standing = ", ".join(filter(None, words))
        phase = f"{self._phase}: " if self._phase else ""
        say(f"{phase}{text} ({standing})" if standing else f"{phase}{text}")


def say(text: str, form: str = "%H:%M:%S") -> None:
    """A line on stderr, with the time of this place."""
    now = datetime.datetime.now().astimezone().strftime(form)
    click.echo(f"plumbline: {now} {text}", err=True)


def _minutes(seconds: float) -> str:
    """`3:10`, `1:03:10`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# A forecast of how far a campaign is and how long it will probably take, learnt from what it
# measures. Pure.

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
