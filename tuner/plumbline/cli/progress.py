"""How far a command is: on a terminal a bar, else a line a step and one a minute. On stderr."""

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
    from plumbline_db.records import Run

_SILENT_SECONDS = 60.0


class Bar:
    """Over a budget of seconds that are spent in launches, or over a number of launches `in_all`,
    at most; without either only the launches are counted. `clock`: seconds that go on."""

    def __init__(
        self,
        budget_seconds: float = 0.0,
        *,
        in_all: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )

        self._clock = clock
        self._live = sys.stderr.isatty()
        self._counts = in_all > 0
        self._total = float(in_all or budget_seconds)
        self._done = self._seconds = 0.0
        self._launches = 0
        self._begun = self._said = clock()
        columns = [BarColumn(bar_width=20), TaskProgressColumn()] if self._total else []
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            *columns,
            TimeElapsedColumn(),
            TextColumn("{task.fields[standing]}", markup=False),
            console=console(stderr=True),
            transient=True,
            disable=not self._live,
        )
        self._task = self._progress.add_task("starting", total=self._total or None, standing="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def launched(self, suite: str, run: Run) -> None:
        self._launches += 1
        self._seconds += run.seconds
        self._done += 1 if self._counts else run.seconds
        state = suite if run.finished else f"{suite} failed: {run.reason}"
        self._show(standing=", ".join([*self._standing(percent=False), state]))
        if not self._live and self._clock() - self._said >= _SILENT_SECONDS:
            self._say(state)

    def expect(self, seconds: float) -> None:
        """Launches may take so many seconds from now on."""
        if not self._counts and self._total:
            self._total = self._done + max(0.0, seconds)
            self._show()

    def step(self, text: str) -> None:
        self._show(description=text)
        if not self._live:
            self._say(text)

    def _show(self, **fields: str) -> None:
        total = max(self._total, self._done) or None
        self._progress.update(
            self._task,
            completed=self._done,
            total=total,
            **fields,  # type: ignore[arg-type]
        )

    def _standing(self, *, percent: bool) -> list[str]:
        """`23 %` (of the limit, where there is one in seconds: the command may end earlier),
        `41 launches`, `up to 3:10 left`; behind a limit the launches alone are told."""
        if not self._launches:
            return []
        known = 0 < self._done <= self._total
        of = " %" if self._counts else " % of the time limit"
        words = [f"{100 * self._done / self._total:.0f}{of}"] if known else []
        words = [*(words if percent else []), counted(self._launches, "launch")]
        if known:
            # Between launches there is something to do as well.
            pace = (self._clock() - self._begun) / self._done
            left = max(0.0, self._total - self._done) * pace
            words.append(f"up to {_minutes(left)} left")
        return words

    def _say(self, text: str) -> None:
        self._said = self._clock()
        standing = ", ".join(self._standing(percent=True))
        say(f"{text} ({standing})" if standing else text)


def say(text: str, form: str = "%H:%M:%S") -> None:
    """A line on stderr, with the time of this place."""
    now = datetime.datetime.now().astimezone().strftime(form)
    click.echo(f"plumbline: {now} {text}", err=True)


def _minutes(seconds: float) -> str:
    """`3:10`, `1:03:10`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
