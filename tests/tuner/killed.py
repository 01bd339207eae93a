"""Campaigns in processes of their own that are ended from outside, and what is left of them: of the
pretended library (each launch has a process and a folder, as a real one has), or of a real one."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from plumbline import cli
from plumbline.launch.starter import ended
from plumbline.libraries import gate
from plumbline.system import process
from plumbline_db import blobs, runs
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Run
from tests import own_core
from tests.tuner import planted, started
from tests.tuner.cli.conftest import install
from tests.tuner.simulated import Costs, SimulatedStarter, failed

READY = b"ready\n"
BEFORE_RENAME = "KILLED_BEFORE_RENAME"
SMALL = ["--nprocs", "4", "--sizes", "1024,16384", "--guidelines", "GL12", "--launches", "12"]
POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Starter(SimulatedStarter):
    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        with self._launcher.folder("") as folder:
            (folder / "plan").write_text("a plan")
            done = process.run(["sleep", "0.01"], timeout_seconds=10)
            return (run, records) if done.status == 0 else failed(run, ended(done.status))


def main(
    words: list[str], *, pretended: bool, starter: Callable[[Costs], SimulatedStarter] = Starter
) -> None:
    """A command, in a process of its own."""
    if pretended:
        patched = pytest.MonkeyPatch()
        install(patched, starter(planted.costs()))
        patched.setattr(gate, "other", lambda _: None)
    if BEFORE_RENAME in os.environ:
        _kill_before_rename(int(os.environ[BEFORE_RENAME]))
    sys.argv = ["plumbline", *words]
    sys.stdout.buffer.write(READY)
    sys.stdout.flush()
    cli.main()


def _kill_before_rename(left: int) -> None:
    def counted(real):  # type: ignore[no-untyped-def]
        def call(*words, **options):  # type: ignore[no-untyped-def]
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return real(*words, **options)

        return call

    for name in ("rename", "replace", "link"):
        setattr(os, name, counted(getattr(os, name)))


def _is_of_tempfile(path: Path) -> bool:
    """Whether Python's own module has left it, which writes a file to see whether it can."""
    return re.fullmatch("[a-z0-9_]{8}", path.name) is not None and (
        path.is_file() and path.read_bytes() in (b"", b"blat")
    )


class Place:
    """A folder with the database and the files of a campaign, and temporary files of its own."""

    def __init__(self, folder: Path, words: Sequence[str] = SMALL, *, pretended: bool) -> None:
        self.folder = folder
        self.database = folder / "plumbline.db"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.words = ["campaign", *words, "--db", str(self.database)]
        self._pretended = pretended

    @contextlib.contextmanager
    def campaign(self, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """The command, from the moment on at which its modules are there."""
        code = "from tests.tuner.killed import main; main({!r}, pretended={!r})"
        mine = {"TMPDIR": str(self.temporary)}
        with subprocess.Popen(
            [*own_core.words(), sys.executable, "-c", code.format(self.words, self._pretended)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=started.environment() | mine | environment,
            start_new_session=True,
        ) as command:
            assert command.stdout is not None
            assert command.stdout.read(len(READY)) == READY
            yield command

    def to_its_end(self) -> float:
        """The seconds that it takes."""
        with self.campaign() as command:
            begun = time.monotonic()
            command.communicate()
            assert command.returncode == 0
        return time.monotonic() - begun

    def ended(self, number: signal.Signals, after_seconds: float) -> bool:
        """Whether the signal ended it, not its own end. One that can be heard leaves nothing."""
        left = self.scratch()  # by one that was killed before
        with self.campaign() as command:
            try:
                command.wait(after_seconds)
            except subprocess.TimeoutExpired:
                command.send_signal(number)
            command.communicate()
        if command.returncode == 0:
            return False
        # Before it listens, and in its last moments, a signal is the end of any process.
        expected = (128 + number, -number) if number in POLITE else (-number,)
        assert command.returncode in expected, (command.returncode, number)
        if command.returncode > 0:
            assert set(self.scratch()) <= set(left)
        return True

    def scratch(self) -> list[Path]:
        return [one for one in self.folder.rglob("*") if one.name.startswith(".plumbline-scratch")]

    def files(self) -> list[str]:
        return sorted(
            str(path.relative_to(self.folder))
            for path in self.folder.rglob("*")
            if path.parent != self.temporary or not _is_of_tempfile(path)
        )

    def launches(self) -> list[Run]:
        try:
            with Database.open(self.database) as db:
                found = db.row("SELECT id FROM campaign")
                return runs.listing(db, found[0]) if found else []
        except PlumblineError:  # the first moments of a database
            return []

    def results(self) -> list[str]:
        """All that is kept, but for the times at which it was, and for names of places."""
        assert check(self.database) == []
        said = []
        with Database.open(self.database) as db:
            tables = [
                name for (name,) in db.rows("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            for table in sorted(tables):
                rows = db.rows(f'SELECT * FROM "{table}"')
                said += sorted(f"{table} {tuple(map(_readable, row))}" for row in rows)
        for file in sorted((self.folder / "exports").rglob("*")):
            if file.is_file():
                said += [f"{file.name}: {line}" for line in file.read_text().splitlines()]
        return [self._timeless(line) for line in said]

    def _timeless(self, line: str) -> str:
        line = line.replace(str(self.folder), "HERE")
        line = re.sub(r"\.plumbline-scratch-[0-9a-f-]+", "SCRATCH", line)
        line = re.sub(r"\d{4}-\d\d-\d\dT[\d:.+Z-]+", "THEN", line)
        return re.sub(r"(\bsum\W+)[0-9a-f]{16}|\b[0-9a-f]{64}\b", r"\1SUM", line)

    def require_quiet(self) -> None:
        """No process that was started here is left, in the end. Ranks have a folder in ours."""
        mark = f"\0TMPDIR={self.temporary}".encode()
        for _ in range(3000):
            if not any(mark in _environment(one) for one in Path("/proc").glob("[0-9]*")):
                return
            time.sleep(0.02)
        raise AssertionError("a process is left")


def _readable(value: object) -> object:
    """Texts that are compressed as they are: places and times stand in them."""
    if isinstance(value, bytes):
        with contextlib.suppress(ValueError):
            return blobs.text(value)
    return value


def _environment(entry: Path) -> bytes:
    try:
        return b"\0" + (entry / "environ").read_bytes()
    except OSError:
        return b""
