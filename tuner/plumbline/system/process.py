"""The one place that starts processes: a list of arguments, no shell, stdin closed or a pipe, a
session of its own, a time limit that leaves nobody behind, output kept up to a cap. What this
process leaves when it is killed is ended as well (sessions.py)."""

from __future__ import annotations

import functools
import math
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from plumbline.system import ending, sessions
from plumbline_db.errors import PlumblineError

OUTPUT_CAP_BYTES = 256 * 1024
GRACE_SECONDS = sessions.GRACE_SECONDS


class Finished(msgspec.Struct, frozen=True):
    """The end of a process. `status` is the exit status, negative for a signal; `timed_out` says
    that the limit ended it. `stdout` and `stderr` hold the last bytes of each, up to the cap."""

    argv: list[str]
    status: int
    timed_out: bool
    stdout: str
    stderr: str
    seconds: float


def run(
    argv: Sequence[str | Path],
    *,
    timeout_seconds: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    cap_bytes: int = OUTPUT_CAP_BYTES,
    give_up: Callable[[float], bool] | None = None,
) -> Finished:
    """Runs `argv` to its end, or until `give_up`, which is told every second what seconds of
    processors it has taken, says that it is of no use any more. Raises PlumblineError when the
    program cannot be started."""
    words = [str(word) for word in argv]
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = None
        try:
            with ending.held():  # else nobody would know what was started
                process = start(words, environment, folder=folder, out=out, err=err)
            timed_out = not _wait(process, started + timeout_seconds, give_up)
        finally:
            if process is not None:
                end_session(process)
        return Finished(
            argv=words,
            status=process.returncode,
            timed_out=timed_out,
            stdout=_tail(out.fileno(), cap_bytes),
            stderr=_tail(err.fileno(), cap_bytes),
            seconds=time.monotonic() - started,
        )


def in_foreground(argv: Sequence[str | Path], environment: Mapping[str, str]) -> int:
    """Runs a user's own command with this terminal: input, output and keys are its own, and what
    would end this process ends it first. Returns its status, as a shell would see it."""
    words = [str(word) for word in argv]
    children: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, frame: object) -> None:
        del frame
        for child in children:
            child.send_signal(number)

    # Signals from terminal keys reach the whole group anyway.
    handlers: dict[int, Callable[[int, object], None]]
    handlers = dict.fromkeys((signal.SIGINT, signal.SIGQUIT), lambda *_: None)
    handlers |= dict.fromkeys((signal.SIGTERM, signal.SIGHUP), pass_on)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        child = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
            [*_dying_with_parent(), *words], env=dict(environment)
        )
        children.append(child)
        status = child.wait()
    except OSError as error:
        raise PlumblineError(f"cannot start {words[0]}: {error.strerror}") from error
    finally:
        for number, earlier_handler in before.items():
            signal.signal(number, earlier_handler)
    return status if status >= 0 else 128 - status


def _wait(
    process: subprocess.Popen[bytes], deadline: float, give_up: Callable[[float], bool] | None
) -> bool:
    """False when the time is up before the process has ended, or was given up."""
    while True:
        seconds_left = max(0.0, deadline - time.monotonic())
        if _ends_within(process, seconds_left if give_up is None else min(seconds_left, 1.0)):
            return True
        if time.monotonic() >= deadline:
            return False
        if give_up is not None and give_up(sessions.processor_seconds(process.pid)):
            return True


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Sleeps until the process ends, where the system tells (pidfd_open, Linux 5.3): `Popen.wait`
    looks every 50 ms, which is time that is lost after each launch."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(math.ceil(seconds * 1000)):
            return False
    finally:
        os.close(descriptor)
    process.wait()
    return True


def start(
    words: list[str],
    environment: Mapping[str, str] | None,
    *,
    err: IO[bytes],
    out: IO[bytes] | int,
    folder: Path | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Starts a process in a session of its own, which is ended with this process; `end_session`
    ends it before. Raises PlumblineError when the program cannot be started."""
    path = None if environment is None else environment.get("PATH")
    if shutil.which(words[0], path=path) is None:
        raise PlumblineError(
            f"cannot start {words[0]}: no such program; check that it is installed and on PATH"
        )
    sessions.watched()
    try:
        process = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
            words,
            stdin=stdin,
            stdout=out,
            stderr=err,
            env=None if environment is None else dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    except OSError as error:
        raise PlumblineError(
            f"cannot start {words[0]}: {error.strerror}; check that it is installed and on PATH"
        ) from error
    sessions.begun(process.pid)
    return process


@functools.cache
def _dying_with_parent() -> list[str]:
    """Words before a command that gets SIGTERM when this process dies: util-linux's, where it is at
    hand (on every Debian)."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return []
    words = [setpriv, "--pdeathsig", "TERM", "--"]
    tried = subprocess.run(  # noqa: S603 - a list of arguments, no shell
        [*words, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return words if tried.returncode == 0 else []


def end_session(process: subprocess.Popen[bytes]) -> None:
    """Ends every process of the session that `process` leads: politely, then for good, and at once
    when a second signal asks for it."""
    sessions.end(
        [process.pid], lambda: process.poll() is not None or ending.in_haste(), GRACE_SECONDS
    )
    process.wait()
    sessions.ended(process.pid)


def _tail(descriptor: int, cap_bytes: int) -> str:
    size = os.fstat(descriptor).st_size
    data = os.pread(descriptor, cap_bytes, max(0, size - cap_bytes))
    return data.decode(errors="replace")
