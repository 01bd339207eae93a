"""The daemon as a process: it takes steps, waits between them, hears signals, and says in the
database how it stands. What it says to a log is given to `say`: only the command line prints."""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import msgspec

from plumbline.daemon import configuration_file, notify, told
from plumbline.daemon.backups import Backups, Made
from plumbline.daemon.configuration import Configuration
from plumbline.daemon.moments import Clock, iso, utc_now
from plumbline.daemon.sd_notify import Notifier, Watchdog
from plumbline.daemon.signals import Signals
from plumbline.daemon.step import Step
from plumbline.daemon.taking import Advance
from plumbline.daemon.watched import Finder
from plumbline.daemon.watched import find as find_installed
from plumbline.daemon.watcher import Watcher
from plumbline.system import ending
from plumbline_db import lock, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, TryLaterError, UsageError, of_machine
from plumbline_db.watch_records import Watch, WatchDay
from plumbline_db.way_back import DamagedError

# Between two looks at what may have changed: a window that opens, load.
LONGEST_PAUSE, SHORTEST_PAUSE = 60.0, 0.2
# Steps come to an end, or start a launch, so often; else the daemon hangs.
_LIVES_SECONDS = 1800.0
# What `--once` does at most: a canary, and what follows from its alarms.
_MOST_STEPS = 8

Say = Callable[[str], None]


class Beside(Protocol):
    """What runs beside the steps, from the moment on at which nobody else watches."""

    def begin(self, configuration: Configuration) -> None: ...

    def renew(self, configuration: Configuration) -> None: ...


class Service:
    """`file` None: all defaults. Raises UsageError where the configuration cannot be read."""

    def __init__(
        self,
        database: Path,
        file: Path | None,
        say: Say,
        *,
        clock: Clock = utc_now,
        find: Finder = find_installed,
    ) -> None:
        self._database = database
        self._file = file
        self._say = say
        self._clock = clock
        self._notifier = Notifier()
        self._beat = time.monotonic()
        found = configuration_file.read(file)
        self._watcher = Watcher(found, clock, find, self._alive)
        self._backups = Backups(database)
        self._watch = _begun(found, file, iso(clock()))
        self._error_told = ""
        self._beside: Beside | None = None

    @property
    def configuration(self) -> Configuration:
        return self._watcher.configuration

    def run(self, signals: Signals, beside: Beside | None = None) -> None:
        """Until a signal ends it. Raises TryLaterError where another daemon watches already."""
        held = lock.to_watch(self._database)
        self._beside = beside
        try:
            if beside is not None:
                beside.begin(self.configuration)
            with signals.heard(), Watchdog(self._notifier, self._lives):
                self._notifier.ready("watching")
                self._say(f"watching {self._database}")
                while True:
                    if signals.reload_asked():
                        self._reload()
                    done = self._step()
                    if done.step is Step.WAIT:
                        signals.pause(self._pause(done))
        finally:
            self._notifier.stopping()
            self._keep(state="stopped")
            held.release()

    def once(self) -> Advance:
        """What is due now, to its end; what is said of the last step."""
        held = lock.to_watch(self._database)
        try:
            for _ in range(_MOST_STEPS):
                done = self._step(raises=True)
                if done.step is Step.WAIT and not done.told:
                    break
            return done
        finally:
            self._keep(state="stopped")
            held.release()

    # --- a step ----------------------------------------------------------------------------------

    def _step(self, *, raises: bool = False) -> Advance:
        """Whatever keeps it from the database is waited for."""
        self._alive()
        try:
            with _writing(self._database) as db:
                copied = self._backups.once_a_day(self.configuration.backup, self._clock())
                watching.put(db, self._watch)
                done = self._advanced(db, copied)
                limits = self._watcher.configuration.notify
                said = [*done.said, *notify.tell(db, limits, done.told, self._clock)]
                self._watch = self._after(done)
                watching.put(db, self._watch)
        except TryLaterError as error:
            if raises:
                raise
            return self._waits(str(error))
        except PlumblineError as error:
            self._tell_of_damage(error)
            if raises:
                raise
            now = iso(self._clock())
            self._watch = msgspec.structs.replace(self._watch, error=str(error), failed=now)
            return self._waits(str(error))
        for line in said:
            self._say(line)
        self._notifier.status(self._status(done))
        return done

    def _advanced(self, db: Database, copied: Made) -> Advance:
        """A backup that cannot be made is told, and stops nothing."""
        done = self._watcher.advance(db)
        said, news = [*copied.said, *done.said], [*done.told]
        if copied.error:
            watching.add(db, WatchDay(iso(self._clock())[:10], errors=1))
            said.insert(0, copied.error)
            news.append(told.of_error("plumbline watch", "the daily backup", copied.error))
        error = done.error or copied.error
        return msgspec.structs.replace(done, said=said, told=news, error=error)

    def _waits(self, why: str) -> Advance:
        """Said once, until it is something else."""
        if why != self._error_told:
            self._say(why)
            self._error_told = why
        self._watch = msgspec.structs.replace(self._watch, step=Step.WAIT.value, waits_for=why)
        self._notifier.status(why)
        return Advance(Step.WAIT, because=why, due=self._clock() + timedelta(minutes=1))

    def _after(self, done: Advance) -> Watch:
        self._error_told = ""
        now = iso(self._clock())
        watch = msgspec.structs.replace(
            self._watch,
            stepped=now,
            step=done.step.value,
            waits_for=done.because,
            next_canary=iso(done.due) if done.step is Step.WAIT else self._watch.next_canary,
        )
        if done.error:
            watch = msgspec.structs.replace(watch, error=done.error, failed=now)
        return watch

    def _pause(self, done: Advance) -> float:
        if done.told:
            return 0.0
        if done.due is None:
            return LONGEST_PAUSE
        left = (done.due - self._clock()).total_seconds()
        return min(LONGEST_PAUSE, max(SHORTEST_PAUSE, left)) if left > 0 else LONGEST_PAUSE / 4

    def _status(self, done: Advance) -> str:
        if done.step is not Step.WAIT:
            return f"{done.step.value} of {done.campaign}"
        when = f"; the next canary is due {iso(done.due)}" if done.due else ""
        return f"waiting{': ' + done.because if done.because else ''}{when}"

    def _tell_of_damage(self, error: PlumblineError) -> None:
        """Once, and without the database, which is not to be written any more."""
        if not isinstance(error, DamagedError) or str(error) == self._error_told:
            return
        news = told.of_error("plumbline watch", "reading the database", str(error))
        for line in notify.tell_unkept(self.configuration.notify, news):
            self._say(line)

    # --- itself ----------------------------------------------------------------------------------

    def _reload(self) -> None:
        """A file that cannot be read leaves what is in force, and that is said."""
        self._notifier.reloading()
        now = iso(self._clock())
        try:
            found = configuration_file.read(self._file)
        except UsageError as error:
            self._watch = msgspec.structs.replace(self._watch, refused=str(error), refused_at=now)
            self._say(f"{error}: the configuration before it stays in force")
            self._hear(told.of_error("plumbline watch", "reading the configuration", str(error)))
        else:
            self._watcher.configuration = found
            self._watch = msgspec.structs.replace(
                self._watch, configuration=found.told, read=now, refused="", refused_at=""
            )
            self._say("the configuration was read again")
            if self._beside is not None:
                self._beside.renew(found)
        self._notifier.ready("watching")

    def _hear(self, news: told.Told) -> None:
        try:
            with _writing(self._database) as db:
                limits = self._watcher.configuration.notify
                for line in notify.tell(db, limits, [news], self._clock):
                    self._say(line)
        except PlumblineError as error:
            self._say(str(error))

    def _keep(self, **changes: str) -> None:
        self._watch = msgspec.structs.replace(self._watch, **changes)
        if self._backups.damaged:  # it is left as it is
            return
        try:
            with _writing(self._database) as db:
                watching.put(db, self._watch)
        except PlumblineError as error:
            self._say(str(error))

    def _alive(self) -> None:
        self._beat = time.monotonic()

    def _lives(self) -> bool:
        return time.monotonic() - self._beat < _LIVES_SECONDS


def _begun(configuration: Configuration, file: Path | None, now: str) -> Watch:
    """`file`: where the configuration was read from, at the time of day `now`."""
    return Watch(
        daemon=uuid.uuid4().hex,
        state="running",
        pid=os.getpid(),
        host=socket.gethostname(),
        started=now,
        stepped="",
        step=Step.WAIT.value,
        waits_for="",
        next_canary="",
        error="",
        failed="",
        file="" if file is None else str(file.absolute()),
        configuration=configuration.told,
        read=now,
    )


@contextmanager
def _writing(path: Path) -> Iterator[Database]:
    """A signal that ends the daemon while this opens leaves no lock behind: what has become of it
    is written then."""
    with of_machine(), ExitStack() as stack:
        with ending.held():
            db = stack.enter_context(Database.open(path, write=True))
        yield db
