"""`plumbline watch` as a process of its own, what it says and what it starts; and processes that
keep a machine busy beside it."""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from plumbline_db.connection import Database
from tests.tuner.started import FOLDERS

PATIENCE_SECONDS = 60


@dataclass
class Daemon:
    """`real`: on the MPI library that is on PATH, not on the simulated one. `log`: where it says
    what it says, in place of a pipe that somebody reads."""

    database: Path
    file: Path
    said: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None
    left: bytes = b""
    real: bool = False
    log: Path | None = None

    def start(
        self, *, takes: float = 0.0, slower: bool = False, beneath: Sequence[str] = (), **more: str
    ) -> None:
        words = self._words(takes, "slower" if slower else "")
        with open(self.log or os.devnull, "ab") as log:
            self.process = subprocess.Popen(
                [*beneath, sys.executable, "-m", *words],
                env=os.environ | {"PYTHONPATH": FOLDERS} | more,
                stdout=log if self.log else subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )

    def _words(self, takes: float, slower: str) -> list[str]:
        """What Python is started with."""
        where = [str(self.database), str(self.file)]
        if self.real:
            return ["plumbline", "watch", "--db", *where]
        return ["tests.tuner.daemon.simulated_daemon", *where, str(takes), slower]

    def until(self, words: str, count: int = 1) -> str:
        """The line that says so, the `count`-th one from now on."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and (line := self._line()) is not None:
            self.said.append(line)
            count -= words in line
            if count == 0:
                return line
        raise AssertionError(f"{words!r} was not said, but {self.said}")

    def _line(self) -> str | None:
        """The next one; empty where none came for a while, None at the end."""
        out: IO[bytes] = self.process.stdout
        while b"\n" not in self.left:
            if not select.select([out], [], [], 0.5)[0]:
                return ""
            if not (more := os.read(out.fileno(), 65536)):
                return None
            self.left += more
        line, _, self.left = self.left.partition(b"\n")
        return line.decode() + "\n"

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        self.said += (self.left + (out or b"")).decode().splitlines(keepends=True)
        self.left = b""
        return self.process.returncode

    def open(self) -> Database:
        return Database.open(self.database)

    @property
    def temporary(self) -> Path:
        """Its TMPDIR, where a test has said so at the start."""
        return self.database.parent / "tmp"

    def own(self) -> list[int]:
        """Processes that it has started, at any depth: their TMPDIR tells, its own or one in
        it."""
        mark, found = b"\0" + f"TMPDIR={self.temporary}".encode(), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in b"\0" + (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return [pid for pid in found if pid != self.process.pid]


def _spin() -> None:
    while True:
        pass


@contextmanager
def spinning(count: int) -> Iterator[None]:
    """So many processes that compute."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(count)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()
