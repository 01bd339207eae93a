"""`make test-kills`: imports, applies and rollbacks, each killed at forty moments and before each
of their renames. A campaign is there as a whole or not at all, a file of the user's is the one
before or the one after, and the same command goes on to the undisturbed end."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plumbline.libraries import Knob, gate
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system import paths
from plumbline_db import campaigns, outside, transfer
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError
from tests.db import build
from tests.tuner import killed, simulated, started
from tests.tuner.killed import BEFORE_RENAME, POLITE, READY, Place

pytestmark = pytest.mark.timeout(3600)

KILLS = 40
MINE = "# mine\npml_base_verbose = 0\n"


def main(words: list[str], home: str) -> None:
    """A command, in a process of its own, where the pretended Open MPI reads files below `home`."""
    patched = pytest.MonkeyPatch()
    listed = f"{home}/.openmpi/mca-params.conf,/etc/openmpi-mca-params.conf"
    files = Knob("mca_base_param_files", listed, "string", False, {})
    patched.setattr(OpenMpi, "knobs", lambda *_: {files.name: files})
    patched.setattr(OpenMpi, "reported_in", lambda *_: {files.name: files})
    here = simulated.toolchain()
    patched.setattr(gate, "installed", lambda *_: (here.family, here.installation))
    patched.setattr(paths.Layout, "preload", lambda *_: Path(home) / "libplumbline.so")
    killed.main(words, pretended=True)


class Commands:
    """Commands of a user with a home folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        (self.home / "libplumbline.so").write_bytes(b"\x7fELF")

    @contextlib.contextmanager
    def begun(self, *words: object, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """From the moment on at which its modules are there."""
        code = "from tests.tuner.campaign.killed_transfers import main; main({!r}, {!r})"
        mine = {"HOME": str(self.home), "TMPDIR": str(self.home)}
        with subprocess.Popen(
            [sys.executable, "-c", code.format([*map(str, words)], str(self.home))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**started.environment(), **mine, **environment},
        ) as command:
            assert command.stdout is not None
            assert command.stdout.read(len(READY)) == READY
            yield command

    def to_its_end(self, *words: object) -> float:
        """The seconds that it takes. The pretended library reads no file: 3 says so."""
        with self.begun(*words) as command:
            begun = time.monotonic()
            _, said = command.communicate()
            assert command.returncode in (0, 3), said
        return time.monotonic() - begun

    def killed(self, number: int, after_seconds: float, *words: object) -> bool:
        """Whether the signal ended it, not its own end."""
        with self.begun(*words) as command:
            try:
                command.wait(after_seconds)
            except subprocess.TimeoutExpired:
                command.send_signal(number)
            _, said = command.communicate()
        assert b"Traceback" not in said, said
        return command.returncode not in (0, 3)

    def before_rename(self, rename: int, *words: object) -> bool:
        """False where there are not so many."""
        with self.begun(*words, **{BEFORE_RENAME: str(rename)}) as command:
            command.communicate()
        return command.returncode == -signal.SIGKILL

    def everywhere(self, seed: int, words: tuple[object, ...], whole: Callable[[], None]) -> int:
        """Kill the command at moments and before each rename, and look whether all is whole; its
        end, at which nothing is left to be done, is undone by `whole`. The number of kills."""
        chance, kills, seconds = random.Random(seed), 0, 1.0
        while kills < KILLS:
            number = chance.choice([signal.SIGKILL, signal.SIGKILL, *POLITE])
            ended = self.killed(number, chance.uniform(0, seconds), *words)
            kills += ended
            seconds = seconds * (1.05 if ended else 0.9)
            whole()
        rename = 0
        while self.before_rename(rename, *words):
            whole()
            rename, kills = rename + 1, kills + 1
        whole()
        return kills


def test_imports(tmp_path: Path) -> None:
    theirs, sent, ours = (tmp_path / name for name in ("theirs.db", "sent.plumbline", "ours.db"))
    with Database.open(theirs, write=True) as db:
        build.done(db)
        for day in range(2, 9):
            build.later(db, f"c-{day}", day)
    transfer.export(theirs, sent, [], "2025-03-31T10:00:00+00:00")
    undisturbed = tmp_path / "undisturbed.db"
    transfer.take(undisturbed, sent)
    with Database.open(undisturbed) as db:
        expected = {one.id: outside.sha256(db, one) for one in campaigns.every(db)}
        rows = transfer.listing(db)
    assert len(expected) == 8
    commands = Commands(tmp_path)

    def whole() -> None:
        with contextlib.suppress(PlumblineError):  # there is no database yet
            Database.open(ours).close()
            assert check(ours) == []
            with Database.open(ours) as db:
                found = {one.id: outside.sha256(db, one) for one in campaigns.every(db)}
                assert found.items() <= expected.items()
                assert [one.campaign for one in transfer.listing(db)] == sorted(found)
                ended = found == expected
            if ended:
                assert transfer_rows(ours) == rows
                for file in tmp_path.glob("ours.db*"):
                    file.unlink()

    kills = commands.everywhere(1, ("db", "import", sent, "--db", ours), whole)
    print(f"{kills} kills of imports")  # pytest -s
    commands.to_its_end("db", "import", sent, "--db", ours)
    with Database.open(ours) as db:
        assert {one.id: outside.sha256(db, one) for one in campaigns.every(db)} == expected


def transfer_rows(database: Path) -> list[transfer.Transfer]:
    with Database.open(database) as db:
        return transfer.listing(db)


def test_applies_and_rollbacks(tmp_path: Path) -> None:
    place = Place(tmp_path / "campaign", pretended=True)
    place.to_its_end()
    commands = Commands(tmp_path)
    file = commands.home / ".openmpi" / "mca-params.conf"
    file.parent.mkdir()
    file.write_text(MINE)
    apply = ("apply", "--user", "--db", place.database)
    rollback = ("apply", "--undo", "--user")
    commands.to_its_end(*apply)
    applied = file.read_text()
    assert MINE in applied and applied != MINE

    def state() -> str:
        found = file.read_text()
        assert MINE in found
        if found == MINE:
            return "none"
        store = next(part for part in found.split() if part.endswith("ompi-rules.conf"))
        assert Path(store).is_file() and Path(store).stat().st_size > 0
        return "applied"

    def of_apply() -> None:
        if state() == "applied":
            commands.to_its_end(*rollback)
            assert file.read_text() == MINE

    def of_rollback() -> None:
        if state() == "none":
            commands.to_its_end(*apply)
            assert state() == "applied"

    commands.to_its_end(*rollback)
    kills = commands.everywhere(2, apply, of_apply)
    commands.to_its_end(*apply)
    more = commands.everywhere(3, rollback, of_rollback)
    print(f"{kills} kills of applies, {more} of rollbacks")  # pytest -s
    commands.to_its_end(*rollback)
    assert file.read_text() == MINE
    left = [one.name for one in file.parent.iterdir()]
    assert left == [file.name], left
    assert os.stat(file).st_size == len(MINE)
