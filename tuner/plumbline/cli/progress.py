"""Progress of a command: on a terminal a bar, else a line a step and one a minute. On stderr.

One line of a terminal holds all of it; what has no room is cut with an ellipsis."""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from plumbline.system.words import counted

from .common import console

if TYPE_CHECKING:
    from plumbline.campaign.forecast import Forecast
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
