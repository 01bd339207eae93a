"""A reader of what is printed that goes away, as `head` does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plumbline_db import campaigns
from plumbline_db.connection import Database
from tests.tuner.killed import READY, SMALL
from tests.tuner.started import environment


def pretended(words: list[str], *, progress_too: bool) -> subprocess.Popen[bytes]:
    """A command on the pretended library, in a process of its own."""
    code = f"from tests.tuner.killed import main; main({words!r}, pretended=True)"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if progress_too else subprocess.DEVNULL,
        env=environment(),
    )


@pytest.mark.parametrize("progress_too", [False, True])
def test_a_campaign_goes_on_to_its_end_and_ends_as_without_head(
    tmp_path: Path, progress_too: bool
) -> None:
    database = tmp_path / "plumbline.db"
    words = ["campaign", *SMALL, "--db", str(database)]
    with pretended(words, progress_too=progress_too) as campaign:
        assert campaign.stdout is not None
        assert campaign.stdout.read(len(READY)) == READY
        campaign.stdout.close()
        assert campaign.wait(120) == 0
    with Database.open(database) as db:
        assert campaigns.get(db, None).state == "finished"


def test_what_is_refused_has_its_exit_code_though_nobody_reads() -> None:
    with pretended(["verify", "--sizes", "none"], progress_too=True) as command:
        assert command.stdout is not None
        assert command.stdout.read(len(READY)) == READY
        command.stdout.close()
        assert command.wait(60) == 2


def test_what_a_reader_takes_is_what_was_printed(tmp_path: Path) -> None:
    """Long output too, in order, with what the encoding cannot show."""
    with pretended(["guidelines"], progress_too=False) as command:
        out, _ = command.communicate(timeout=60)
    assert command.returncode == 0
    assert out.startswith(READY) and "GL12" in out.decode() and "⪯" in out.decode()


@pytest.mark.parametrize("words", [["guidelines"], ["guidelines", "--json"]])
def test_a_full_disk_is_said_once(words: list[str]) -> None:
    """Without a traceback of the interpreter at its end."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "plumbline", *words], stdout=full, stderr=subprocess.PIPE
        )
    told = done.stderr.decode()
    assert done.returncode == 1 and told.startswith("plumbline: No space left on device"), told
    assert len(told.splitlines()) == 1, told
