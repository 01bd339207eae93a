"""Texts that no terminal, no JSON and no markup can show as they are, and readers that go away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from plumbline.cli import common, progress
from plumbline.verify.table import natural_width

PROGRAM = [sys.executable, "-c", "from plumbline.cli import main; main()"]


def started(
    *words: str | bytes, folder: Path, **variables: str | bytes
) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path))}
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    done = subprocess.run(
        [*PROGRAM, *words],
        env=environment | variables,  # type: ignore[operator]
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("words", [["results"], ["campaign"], ["lint", "x"], ["doctor"]])
@pytest.mark.parametrize("where", ["argument", "folder", "variable"])
def test_paths_that_are_no_text(tmp_path: Path, words: list[str], where: str) -> None:
    folder = tmp_path
    if where == "folder":
        folder = tmp_path / os.fsdecode(b"a\xff")
        folder.mkdir()
    added = [b"--db", b"/x/\xff.db"] if where == "argument" else []
    variables = {"PLUMBLINE_DB": b"/x/\xff.db"} if where == "variable" else {}
    done = started(*words, *added, folder=folder, **variables)
    assert done.returncode == 2 and b"is not UTF-8: rename it to a name that is" in done.stderr


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = "import os; os.mkdir('x'); os.chdir('x'); os.rmdir('../x'); "
    code = [sys.executable, "-c", gone + PROGRAM[2], "results"]
    done = subprocess.run(
        code, cwd=tmp_path, capture_output=True, timeout=60, check=False,
        env={"PATH": "/usr/bin", "PYTHONPATH": ":".join(filter(None, sys.path))},
    )  # fmt: skip
    assert done.returncode == 2 and b"the current folder was removed" in done.stderr


def test_a_terminal_that_knows_no_such_letters(tmp_path: Path) -> None:
    """The words of others are shown by their numbers."""
    path = tmp_path / "rules.json"
    path.write_text('{"collectives": {"\\ud800\u2aaf": []}}')
    for encoding in ("ascii", "latin-1", "utf-8"):
        done = started("lint", str(path), folder=tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == 3 and b"ud800" in done.stdout
    done = started("lint", "--json", str(path), folder=tmp_path)
    assert done.returncode == 3 and b"\\ud800" in done.stdout


@pytest.mark.parametrize("budget", ["inf", "nan", "-inf", "1e400"])
def test_a_budget_that_is_no_number(tmp_path: Path, budget: str) -> None:
    done = started("campaign", "--budget", budget, folder=tmp_path)
    assert done.returncode == 2 and b"--budget" in done.stderr


def test_what_looks_like_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The reason of a search, a host, a variant: others' words."""
    said = "not in force: [/red] [bold]x :warning: [0"
    table = Table("a")
    table.add_row(said)
    assert natural_width(table) > len(said)
    common.show(table, said)
    assert capsys.readouterr().out.count(said) == 2
    with progress.Bar(in_all=1) as bar:
        bar.step(said)
