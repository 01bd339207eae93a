"""Pipes, devices and folders in place of a file that a user names: each command refuses them at
once, in a process of its own, as one that waits for a pipe hears nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from tests.tuner.started import plumbline

COMMANDS = [
    ("lint", "{file}"),
    ("db", "import", "{file}"),
    ("results", "--db", "{file}"),
    ("campaign", "{file}"),
    ("watch", "{file}"),
    ("campaign", "--profile", "{file}", "--db", "{none}"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_refused(tmp_path: Path, words: tuple[str, ...], kind: str) -> None:
    file = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    none, empty = tmp_path / "none.db", tmp_path / "empty.db"
    Database.open(empty, write=True).close()
    given = [word.format(file=file, none=none, empty=empty) for word in words]
    done = plumbline(*given, seconds=120, HOME=str(tmp_path))
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert f"it is a {kind}, not a regular file" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_recording_with_a_pipe_is_refused(tmp_path: Path) -> None:
    """Its files are read by threads, which no signal ends."""
    os.mkfifo(tmp_path / "rank-0.record")
    done = plumbline("detect", tmp_path, seconds=120)
    assert done.returncode == 1 and "it is a pipe, not a regular file" in done.stderr, done.stderr
