"""Sessions of processes: who is in one, how it is ended, and a small process that ends those which
this one leaves behind when it is killed.

That process is told through a pipe which sessions there are; the kernel closes the pipe when this
one ends, however it ends. It runs this file, so that only the standard library is imported here."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

GRACE_SECONDS = 3.0
_PAUSE_SECONDS = 0.02

_pipe: tuple[int, int] | None = None  # the process that has it, and its end
_lock = threading.Lock()


def members(session: int) -> list[int]:
    return [pid for pid, _ in _of(session)]


def descendants(ancestor: int) -> list[int]:
    """The processes that `ancestor` has started, and those that these have, in whatever session."""
    children: dict[int, list[int]] = {}
    for pid, fields in _processes():
        children.setdefault(int(fields[1]), []).append(pid)
    pids = list(children.get(ancestor, ()))
    for pid in pids:
        pids += children.get(pid, ())
    return pids


def processor_seconds(session: int) -> float:
    """Return what the processes of a session that are alive have taken so far."""
    ticks = sum(int(fields[11]) + int(fields[12]) for _, fields in _of(session))
    return ticks / os.sysconf("SC_CLK_TCK")


def end(them: Iterable[int], is_over: Callable[[], bool], grace_seconds: float) -> None:
    """Ends all processes of these sessions: politely, once (mpirun takes a second time for the end
    of its patience, and leaves its files), and for good when that is over or the time of grace is.
    mpirun puts its ranks into process groups of their own, so that a group alone is not enough."""
    limit = time.monotonic() + grace_seconds
    if not is_over():
        _signal(them, signal.SIGTERM)
    while not is_over() and time.monotonic() < limit:
        time.sleep(_PAUSE_SECONDS)
    limit = time.monotonic() + GRACE_SECONDS
    while _signal(them, signal.SIGKILL) and time.monotonic() < limit:  # some may just be forking
        time.sleep(_PAUSE_SECONDS)


def watched() -> None:
    """Start the small process before the first session: a kill between the start of a session and
    its note would leave the session behind."""
    # If the watcher cannot be started, or was killed, sessions are not ended.
    with _lock, contextlib.suppress(OSError):
        _end_of_pipe()


def begun(session: int) -> None:
    """Note that it is to be ended with this process."""
    _say(session)


def ended(session: int) -> None:
    _say(-session)


def _signal(them: Iterable[int], number: signal.Signals) -> int:
    """Return how many processes it was sent to."""
    pids = [pid for session in them for pid in members(session)]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return len(pids)


def _of(session: int) -> Iterator[tuple[int, list[str]]]:
    """Processes whose session id (field 6 of /proc/PID/stat) is `session`, with their fields from
    the third on."""
    for pid, fields in _processes():
        if int(fields[3]) == session and fields[0] != "Z":
            yield pid, fields


def _processes() -> Iterator[tuple[int, list[str]]]:
    """All processes, with their fields of /proc/PID/stat from the third on."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            yield int(entry.name), (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue


def _say(session: int) -> None:
    with _lock, contextlib.suppress(OSError):
        os.write(_end_of_pipe(), b"%d\n" % session)


def _end_of_pipe() -> int:
    """Return the end to write to; a forked process has a watcher of its own."""
    global _pipe
    if _pipe is None or _pipe[0] != os.getpid():
        _pipe = os.getpid(), _watcher()
    return _pipe[1]


def _watcher() -> int:
    """Starts it; the end of its pipe."""
    reading, writing = os.pipe()
    try:
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", __file__],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reading, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
    finally:
        os.close(reading)
    return writing


def _watch() -> None:
    """Until the pipe is closed; what is still in its session then is ended."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    sessions_left: set[int] = set()
    for line in sys.stdin:
        session = int(line)
        if session > 0:
            sessions_left.add(session)
        else:
            sessions_left.discard(-session)
    end(
        sessions_left, lambda: not any(members(session) for session in sessions_left), GRACE_SECONDS
    )


if __name__ == "__main__":
    _watch()
