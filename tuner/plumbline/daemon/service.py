"""The daemon as a process: it takes steps, waits between them, hears signals, and says in the
database how it stands. What it says to a log is given to `say`: only the command line prints.

systemd is told by a datagram to the socket that NOTIFY_SOCKET names (sd_notify(3)). The database is
copied on each day of UTC. A damaged database is neither copied nor written to, and the good copies
stay."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec

from plumbline.daemon import notify
from plumbline.daemon.configuration import Backup, DaemonConfiguration, read
from plumbline.daemon.step import DaemonStep
from plumbline.daemon.taking import Advance
from plumbline.daemon.watched import Finder
from plumbline.daemon.watched import find as find_installed
from plumbline.daemon.watcher import Watcher
from plumbline.daemon.windows import Clock, iso, utc_now
from plumbline.system import ending
from plumbline.system.words import counted
from plumbline_db import backups, connection, lock, spool, watching
from plumbline_db.backups import DamagedError
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, TryLaterError, UsageError, of_machine
from plumbline_db.watching import Watch, WatchDay

# Signals of the daemon. SIGTERM and SIGINT end it where it stands, as any command (system/ending):
# ranks are ended, what was measured is kept. SIGHUP ends a pause, and asks for the configuration to
# be read again between two steps.


class Signals:
    """Made inside `ending.by_signals`, in the main thread."""

    def __init__(self) -> None:
        self._reload = False
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def reload_asked(self) -> bool:
        """Since this was asked last."""
        asked, self._reload = self._reload, False
        return asked

    def pause(self, seconds: float) -> None:
        """Ends early when SIGHUP comes; the others raise."""
        ready, _, _ = select.select([self._read], [], [], max(0.0, seconds))
        if ready:
            os.read(self._read, 4096)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._reload = True
        try:
            os.write(self._write, b"h")
        except BlockingIOError:  # it is full of what was not read yet
            return

    @contextmanager
    def heard(self) -> Iterator[None]:
        before = signal.signal(signal.SIGHUP, self._receive)
        try:
            yield
        finally:
            signal.signal(signal.SIGHUP, before)
            os.close(self._read)
            os.close(self._write)


# The pauses between two checks of what may have changed: a window that opens, the load.
LONGEST_PAUSE, SHORTEST_PAUSE = 60.0, 0.2
# A step must end or start a launch within this time; otherwise the daemon hangs.
_LIVES_SECONDS = 1800.0
# The most steps of `--once`: a canary, and the steps that follow from its alarms.
_MOST_STEPS = 8

Say = Callable[[str], None]
_NOTIFY_SECONDS = 1.0  # for whoever reads the socket to make room
# The pause after a failure, and before a damaged database is opened again.
REST = timedelta(hours=1)


class MadeBackup(msgspec.Struct, frozen=True):
    """`said` is for a log; `error`: why there is none ("": there is one, or none is due)."""

    said: list[str] = []
    error: str = ""


class BackgroundService(Protocol):
    """The things that run beside the steps, from the moment on at which nobody else watches."""

    def begin(self, configuration: DaemonConfiguration) -> None: ...

    def renew(self, configuration: DaemonConfiguration) -> None: ...


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
        configuration = read(file)
        self._watcher = Watcher(configuration, clock, find, self._alive)
        self._backups = Backups(database)
        self._watch = _begun(configuration, file, iso(clock()))
        self._error_told = ""
        self._spooled: set[spool.SpoolFile] = set()
        self._refused: set[str] = set()
        self._beside: BackgroundService | None = None

    @property
    def configuration(self) -> DaemonConfiguration:
        return self._watcher.configuration

    def run(self, signals: Signals, beside: BackgroundService | None = None) -> None:
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
                    if done.step is DaemonStep.WAIT:
                        signals.pause(self._pause(done))
        finally:
            self._notifier.stopping()
            self._keep(state="stopped")
            held.release()

    def once(self) -> Advance:
        """Do what is due now, to its end; return what is said of the last step."""
        held = lock.to_watch(self._database)
        try:
            for _ in range(_MOST_STEPS):
                done = self._step(raises=True)
                if done.step is DaemonStep.WAIT and not done.told:
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
            self._take_spool()
            with _writing(self._database) as db:
                copied = self._backups.once_a_day(self.configuration.backup, self._clock())
                watching.put(db, self._watch)
                done = self._advanced(db, copied)
                limits = self._watcher.configuration.notify
                lines = [*done.said, *notify.tell(db, limits, done.told, self._clock)]
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
        for line in lines:
            self._say(line)
        self._notifier.status(self._status(done))
        return done

    def _advanced(self, db: Database, copied: MadeBackup) -> Advance:
        """A backup that cannot be made is told, and stops nothing."""
        done = self._watcher.advance(db)
        lines, news = [*copied.said, *done.said], [*done.told]
        if copied.error:
            watching.add(db, WatchDay(iso(self._clock())[:10], errors=1))
            lines.insert(0, copied.error)
            news.append(notify.of_error("plumbline watch", "the daily backup", copied.error))
        error = done.error or copied.error
        return msgspec.structs.replace(done, said=lines, told=news, error=error)

    def _take_spool(self) -> None:
        """Import what jobs put into the spool since the last turn."""
        folder = os.environ.get(spool.VARIABLE)
        if not folder:
            return
        try:
            taken = spool.take(self._database, Path(folder), self._spooled)
        except TryLaterError:
            raise
        except PlumblineError as error:
            taken = spool.Taken([], [str(error)], set())
        self._spooled |= taken.read
        for moved in taken.moved:
            if moved.new:
                self._say(f"imported {moved.run} from the spool")
        for sentence in taken.refused:
            if sentence not in self._refused:
                self._refused.add(sentence)
                self._say(f"not imported from the spool: {sentence}")

    def _waits(self, why: str) -> Advance:
        """Said once, until it is something else."""
        if why != self._error_told:
            self._say(why)
            self._error_told = why
        self._watch = msgspec.structs.replace(
            self._watch, step=DaemonStep.WAIT.value, waits_for=why
        )
        self._notifier.status(why)
        return Advance(DaemonStep.WAIT, because=why, due=self._clock() + timedelta(minutes=1))

    def _after(self, done: Advance) -> Watch:
        self._error_told = ""
        now = iso(self._clock())
        watch = msgspec.structs.replace(
            self._watch,
            stepped=now,
            step=done.step.value,
            waits_for=done.because,
            next_canary=iso(done.due) if done.step is DaemonStep.WAIT else self._watch.next_canary,
        )
        if done.error:
            watch = msgspec.structs.replace(watch, error=done.error, failed=now)
        return watch

    def _pause(self, done: Advance) -> float:
        if done.told:
            return 0.0
        if done.due is None:
            return LONGEST_PAUSE
        seconds = (done.due - self._clock()).total_seconds()
        return (
            min(LONGEST_PAUSE, max(SHORTEST_PAUSE, seconds)) if seconds > 0 else LONGEST_PAUSE / 4
        )

    def _status(self, done: Advance) -> str:
        if done.step is not DaemonStep.WAIT:
            return f"{done.step.value} of {done.campaign}"
        when = f"; the next canary is due {iso(done.due)}" if done.due else ""
        return f"waiting{': ' + done.because if done.because else ''}{when}"

    def _tell_of_damage(self, error: PlumblineError) -> None:
        """Once, and without the database, which is not to be written any more."""
        if not isinstance(error, DamagedError) or str(error) == self._error_told:
            return
        news = notify.of_error("plumbline watch", "reading the database", str(error))
        for line in notify.tell_unkept(self.configuration.notify, news):
            self._say(line)

    # --- itself ----------------------------------------------------------------------------------

    def _reload(self) -> None:
        """A file that cannot be read leaves what is in force, and that is said."""
        self._notifier.reloading()
        now = iso(self._clock())
        try:
            configuration = read(self._file)
        except UsageError as error:
            self._watch = msgspec.structs.replace(self._watch, refused=str(error), refused_at=now)
            self._say(f"{error}: the previous configuration stays active")
            self._hear(notify.of_error("plumbline watch", "reading the configuration", str(error)))
        else:
            self._watcher.configuration = configuration
            self._watch = msgspec.structs.replace(
                self._watch, configuration=configuration.told, read=now, refused="", refused_at=""
            )
            self._say("the configuration was read again")
            if self._beside is not None:
                self._beside.renew(configuration)
        self._notifier.ready("watching")

    def _hear(self, news: notify.Told) -> None:
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


def _begun(configuration: DaemonConfiguration, file: Path | None, now: str) -> Watch:
    """`file`: where the configuration was read from, at the time of day `now`."""
    return Watch(
        daemon=uuid.uuid4().hex,
        state="running",
        pid=os.getpid(),
        host=socket.gethostname(),
        started=now,
        stepped="",
        step=DaemonStep.WAIT.value,
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


class Notifier:
    """Takes its socket out of the environment, so that what is started cannot speak for it."""

    def __init__(self) -> None:
        self._address = os.environ.pop("NOTIFY_SOCKET", "")
        os.environ.pop("WATCHDOG_PID", None)
        usec = os.environ.pop("WATCHDOG_USEC", "")
        self.watchdog_seconds = int(usec) / 1e6 if usec.isdecimal() else 0.0

    def tell(self, *lines: str) -> None:
        """`READY=1`, `STATUS=…`. Who does not listen is no error."""
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):  # an abstract socket
            address = "\0" + address[1:]
        text = "\n".join(line.replace("\n", " ") for line in lines)
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out,
        ):
            out.settimeout(_NOTIFY_SECONDS)
            out.connect(address)
            out.sendall(text.encode())

    def ready(self, status: str) -> None:
        self.tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self.tell("STOPPING=1")

    def status(self, text: str) -> None:
        self.tell(f"STATUS={text}")


class Watchdog:
    """Tells systemd that the daemon lives, as long as its steps go on: a thread asks `lives` twice
    in each period. Launches may take long; that nobody comes back from one is what is found."""

    def __init__(self, notifier: Notifier, lives: Callable[[], bool]) -> None:
        self._notifier = notifier
        self._lives = lives
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Watchdog:
        if self._notifier.watchdog_seconds > 0:
            self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._notifier.watchdog_seconds / 3):
            if self._lives():
                self._notifier.tell("WATCHDOG=1")


class Backups:
    """The backups of one database; the files themselves say which days have one."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._rests_until: datetime | None = None
        self._damage: DamagedError | None = None

    @property
    def damaged(self) -> bool:
        """Return whether the database was damaged when it was checked last."""
        return self._damage is not None

    def once_a_day(self, table: Backup, now: datetime) -> MadeBackup:
        """Raises DamagedError, at each call until an hour has passed and it is looked again."""
        if self._rests_until is not None and now < self._rests_until <= now + REST:
            if self._damage is not None:
                raise self._damage
            return MadeBackup()
        self._rests_until = self._damage = None
        folder = _folder_of(self._database, table)
        target = folder / _name(self._database, iso(now)[:10])
        if not table.keep or target.exists():
            return MadeBackup()
        try:
            _make(folder)
            connection.backup(self._database, target)
        except DamagedError as error:
            self._rests_until, self._damage = now + REST, error
            raise
        except PlumblineError as error:
            self._rests_until = now + REST
            return MadeBackup(error=f"no backup of today: {error}")
        return MadeBackup([f"backup: {target}", *_remove_old(self._database, table, target)])


def _folder_of(database: Path, table: Backup) -> Path:
    return Path(table.folder) if table.folder else backups.daily(database)


def all_backups(database: Path, table: Backup) -> list[Path]:
    """The oldest first."""
    folder = _folder_of(database, table)
    days = re.compile(re.escape(_name(database, "")[:-3]) + r"\d{4}-\d\d-\d\d\.db")
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if days.fullmatch(path.name))


def _name(database: Path, day: str) -> str:
    return f"{database.name.removesuffix('.db')}-{day}.db"


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise PlumblineError(
            f"cannot create {folder}: {error.strerror}; name another one in backup.folder"
        ) from error


def _remove_old(database: Path, table: Backup, made: Path) -> list[str]:
    """Never the one that was made now, whatever the days of others say."""
    others = [path for path in all_backups(database, table) if path != made]
    old = others[: max(0, len(others) - table.keep + 1)]
    try:
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        return [f"an old backup stays: {error}"]
    return [f"removed {counted(len(old), 'older backup')}"] if old else []
