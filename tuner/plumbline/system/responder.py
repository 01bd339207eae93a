"""A process that stays alive and answers requests: a request is a line on its standard input, and
an answer is the line of its standard output that matches a pattern. The answer's line is written to
standard error as well, so that both outputs of a request are known to be complete."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.system import ending, process, sessions

# mpirun forwards standard error separately from standard output, usually within a millisecond.
_STDERR_SECONDS = 1.0
_PAUSE_SECONDS = 0.001
_LOOK_SECONDS = 0.05  # where the system does not tell that a process has ended


class Reply(msgspec.Struct, frozen=True):
    """The outputs of one request, without the answer's own line. `code` is the number in the
    answer; None: the process ended, or the time limit ended it (`timed_out`)."""

    code: int | None
    timed_out: bool
    stdout: str
    stderr: str


class Responder:
    """Starts `argv` in a session of its own. Raises PlumblineError when it cannot be started.
    `pattern` matches the line of an answer; its first group is the code. `end` is the request at
    which the process ends: what starts it may not hand on that its input is closed."""

    def __init__(
        self,
        argv: Sequence[str | Path],
        environment: Mapping[str, str],
        pattern: re.Pattern[bytes],
        end: bytes,
        cap_bytes: int = process.OUTPUT_CAP_BYTES,
    ) -> None:
        self.argv = [str(word) for word in argv]
        self._pattern = pattern
        self._end = end
        self._cap_bytes = cap_bytes
        self._err = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._read = b""
        self._in_request = False
        requests, self._input = os.pipe()
        self._output, answers = os.pipe()
        try:
            with ending.held():
                self._process = process.start(
                    self.argv, environment, stdin=requests, out=answers, err=self._err
                )
        except BaseException:
            self._release()
            raise
        finally:
            os.close(requests)
            os.close(answers)
        self._told = _told_of(self._process.pid)

    @property
    def pid(self) -> int:
        """The process that leads the session."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def status(self) -> int:
        """The exit status, once the process has ended; negative for a signal."""
        return self._process.wait()

    def ask(self, request: bytes, timeout_seconds: float) -> Reply:
        """Sends a line and waits for its answer. A process that ends, or whose time is up, is ended
        with its whole session."""
        deadline = time.monotonic() + timeout_seconds
        stderr_start = os.fstat(self._err.fileno()).st_size
        self._read = b""
        self._in_request = True
        self._send(request)
        match, timed_out = self._await_answer(deadline)
        if match is None:
            process.end_session(self._process)
            self._drain()
            self._in_request = False
            return Reply(None, timed_out, self._stdout(b""), self._stderr(stderr_start, b""))
        line = match[0]
        stop = time.monotonic() + _STDERR_SECONDS
        while line not in self._since(stderr_start) and time.monotonic() < stop:
            time.sleep(_PAUSE_SECONDS)
        self._in_request = False
        return Reply(int(match[1]), False, self._stdout(line), self._stderr(stderr_start, line))

    def await_end(self, seconds: float) -> None:
        """Waits for a process that has announced its end, and ends what is left of its session."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        process.end_session(self._process)

    def ask_to_end(self) -> None:
        """Lets a process end that waits for a request. One that is in a request, because a signal
        ended the wait for it, is terminated."""
        if self._in_request:
            self._process.terminate()
        elif self._input >= 0:
            self._send(self._end)
        self._close_input()

    def close(self, grace_seconds: float = sessions.GRACE_SECONDS) -> None:
        """Ends the process and its session: politely, then for good."""
        self.ask_to_end()
        if not ending.in_haste() and not self._in_request:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_seconds)
        process.end_session(self._process)
        if self._told is not None:
            os.close(self._told)
        self._release()

    def _send(self, request: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # that it has ended shows by itself
            os.write(self._input, request)

    def _close_input(self) -> None:
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def _release(self) -> None:
        self._close_input()
        os.close(self._output)
        self._err.close()

    def _await_answer(self, deadline: float) -> tuple[re.Match[bytes] | None, bool]:
        """The answer's line (None: there is none), and whether the time was up."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        if self._told is not None:
            poll.register(self._told, select.POLLIN)
        while True:
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                return None, True
            wait = seconds if self._told is not None else min(seconds, _LOOK_SECONDS)
            ready = {descriptor for descriptor, _ in poll.poll(wait * 1000 + 1)}
            if self._output in ready:
                part = os.read(self._output, 65536)
                self._read += part
                if match := self._pattern.search(self._read):
                    return match, False
                if not part:
                    return None, False
            elif self._told in ready or self._process.poll() is not None:
                self._drain()
                return self._pattern.search(self._read), False

    def _drain(self) -> None:
        """Reads what is there, without waiting for more."""
        os.set_blocking(self._output, False)
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._output, 65536):
                self._read += part

    def _stdout(self, answer: bytes) -> str:
        return _text(self._read, answer, self._cap_bytes)

    def _stderr(self, start: int, answer: bytes) -> str:
        return _text(self._since(start), answer, self._cap_bytes)

    def _since(self, start: int) -> bytes:
        size = os.fstat(self._err.fileno()).st_size
        first = max(start, size - self._cap_bytes)
        return os.pread(self._err.fileno(), size - first, first)


def _text(output: bytes, answer: bytes, cap_bytes: int) -> str:
    """The last bytes of `output` as text, without the line of the answer."""
    if answer:
        output = output.replace(answer, b"")
    return output[-cap_bytes:].decode(errors="replace")


def _told_of(pid: int) -> int | None:
    """A descriptor that can be read when the process ends, where the system has that."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
