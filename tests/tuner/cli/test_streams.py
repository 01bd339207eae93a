"""A reader of what is printed that goes away, as `head` does."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.cli import common
from plumbline_db import campaigns
from plumbline_db.connection import Database
from tests.tuner.cli.command import plumbline
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
    with pretended(["verify", "--list"], progress_too=False) as command:
        out, _ = command.communicate(timeout=60)
    assert command.returncode == 0
    assert out.startswith(READY) and "GL12" in out.decode() and "⪯" in out.decode()


@pytest.mark.parametrize("words", [["verify", "--list"], ["verify", "--list", "--json"]])
def test_a_full_disk_is_said_once(words: list[str]) -> None:
    """Without a traceback of the interpreter at its end."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "plumbline", *words], stdout=full, stderr=subprocess.PIPE
        )
    told = done.stderr.decode()
    assert done.returncode == 1 and told.startswith("plumbline: No space left on device"), told
    assert len(told.splitlines()) == 1, told


HOSTILE = "a\x1b]0;owned\x07b\x9b31mc\x1b[31md\u202ee\u2028f\x7fg\rh\te\né"
CLEANED = "a]0;ownedb31mc[31mdefgh\te\né"
SHOWS = f"""
import sys
import click
from rich.text import Text
from plumbline.cli import common, streams
streams.prepare()
hostile = {HOSTILE!r}
click.echo(hostile)
common.remark(hostile)
table = common.titled(hostile.replace(chr(10), ""), ["one"])
table.add_row(Text(hostile.partition(chr(10))[0], style="red"))
common.show(table)
common.console(stderr=True).print(Text(hostile))
print(hostile)
"""


def test_no_text_commands_a_pipe_s_reader() -> None:
    words = [sys.executable, "-c", SHOWS]
    done = subprocess.run(words, env=environment(), capture_output=True, check=True)
    text = (done.stdout + done.stderr).decode()
    assert text.count("a]0;ownedb31mc") == 6 and CLEANED in text
    assert not set("\x1b\x07\x9b\u202e\u2028\x7f\r") & set(text)


def test_no_text_commands_a_terminal_whose_colours_stay() -> None:
    """Control sequences are rich's own: of colours, and of them alone."""
    master, slave = pty.openpty()
    words = [sys.executable, "-c", SHOWS]
    variables = environment() | {"TERM": "xterm-256color", "COLUMNS": "80"}
    with subprocess.Popen(words, env=variables, stdout=slave, stderr=slave) as command:
        os.close(slave)
        found = b""
        while piece := _read(master):
            found += piece
        assert command.wait(60) == 0
    os.close(master)
    text = found.decode().replace("\r\n", "\n")
    assert "\x1b[31m" in text and "\x1b[1m" in text
    without = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert not set("\x1b\x07\x9b\u202e\u2028\x7f\r") & set(without)
    assert without.count("ownedb31mc[31mdefg") == 5


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # its end
        return b""


def test_json_keeps_every_character(capsys: pytest.CaptureFixture[str]) -> None:
    common.print_json({"name": HOSTILE})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": HOSTILE}
    assert not set("\x1b\x07\x9b\u202e\u2028\x7f\r") & set(out)


def test_no_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("plumbline.core.guidelines.load", full)
    said = plumbline("verify", "--list")
    assert said.status == 1 and said.err.startswith("plumbline: out of memory: ")
    assert said.err.count("\n") == 1
