"""What the pages of the first hour tell people to type, typed in order, each page in a folder of
its own; and the messages that docs/troubleshooting.md quotes are the program's."""

from __future__ import annotations

import ast
import functools
import os
import re
from pathlib import Path

import pytest

from plumbline.results import compared_now
from tests import simgrid
from tests.page_commands import DOCS, printed, typed
from tests.probes.launch import ROOT
from tests.tuner import simulated
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.simulated import SimulatedStarter

# On the simulated library of this folder; researchers' page types `--simulate` itself.
PAGES = ("administrator.md", "user.md", "library-developer.md", "troubleshooting.md")
SIMULATED_PAGE = "researcher.md"
HERE = {
    "campaign": ["-n", "4", "--sizes", "1024,16384", "--guidelines", "GL12,GL16"],
    "verify": ["--launches", "12"],
}


def type_all(page: str, added: dict[str, list[str]]) -> dict[str, Result]:
    """Types them. 3: something slower or violated was found, which is an answer."""
    said = {}
    for command in typed(page):
        done = plumbline(*command.words, *added.get(command.words[0], []))
        assert done.status in (0, 3), (page, command.text, done.err)
        if command.file:
            Path(command.file).write_text(done.out)
        said[command.text] = done
    return said


@pytest.fixture
def folder(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is typed: a database of its own, and an application that `run` becomes."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PLUMBLINE_DB", str(home / "plumbline.db"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").write_text("#!/bin/sh\n")
    (tmp_path / "app").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_is_typed(
    page: str, folder: Path, starter: SimulatedStarter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the simulated library of this folder; `run` ends where the application would begin."""
    del starter
    became: list[list[str]] = []

    def execve(program: str, words: list[str], environment: dict[str, str]) -> None:
        del program, environment
        became.append(words)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(compared_now, "find_toolchain", lambda *_, **__: simulated.toolchain())
    said = type_all(page, HERE)
    assert len(said) >= (1 if page == "troubleshooting.md" else 7)
    if page == "user.md":
        assert [words[:3] for words in became] == [["mpirun", "-np", "4"], ["mpirun", "-np", "3"]]
        assert (folder / "tuned" / "plumbline.sh").is_file()


def test_what_the_page_of_researchers_says_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under SimGrid, as it stands there."""
    simgrid.toolchain()
    monkeypatch.setenv("PLUMBLINE_DB", str(tmp_path / "plumbline.db"))
    monkeypatch.chdir(tmp_path)
    said = type_all(SIMULATED_PAGE, {})
    assert len(said) >= 8
    for command, lines in printed(SIMULATED_PAGE):
        done = said[command.text]
        told = " ".join(f"{done.out} {done.err}".split())
        assert [line for line in lines if line not in told] == [], command.text
    assert (tmp_path / "medians.csv").read_text().startswith("run,suite,launch,function")


def test_pages_are_short() -> None:
    for page in (*PAGES, SIMULATED_PAGE):
        assert len((DOCS / page).read_text().splitlines()) <= 150, page


# --- messages -----------------------------------------------------------------------------------


@functools.cache
def sources() -> str:
    """All texts of the program, those of one place joined as Python joins them; what is put in is
    an ellipsis."""
    texts = []
    for room in ("tuner/plumbline", "db/plumbline_db", "exporters/plumbline_exporters"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(node.value)
                elif isinstance(node, ast.JoinedStr):
                    texts.append("".join(map(_part, node.values)))
    return "\n".join(re.sub(r"\{\w+\}", "…", text) for text in texts)


def _part(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "…"


def quoted() -> list[str]:
    """The messages: code that an item of the page's lists begins with."""
    text = (DOCS / "troubleshooting.md").read_text()
    return re.findall(r"^\* `([^`]+)`$", text, re.MULTILINE)


def test_every_quoted_message_is_of_the_program() -> None:
    messages, texts = quoted(), sources()
    assert len(messages) >= 15
    assert [message for message in messages if message.strip("… ") not in texts] == []


def test_the_check_of_messages_can_fail() -> None:
    assert "the flux capacitor is not in force" not in sources()
