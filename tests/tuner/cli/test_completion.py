"""What shells complete: in the real bash, zsh and fish, and by the program alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline_db.connection import Database
from tests.db import build
from tests.tuner.cli.command import plumbline

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """`plumbline` on PATH, and a database with a campaign."""
    command = tmp_path / "plumbline"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m plumbline "$@"\n')
    command.chmod(0o755)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        build.started(db)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return os.environ | {"PATH": path, "PLUMBLINE_DB": str(tmp_path / "plumbline.db")}


def completed(environment: dict[str, str], line: str) -> list[str]:
    words = line.split(" ")
    variables = {
        "_PLUMBLINE_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = subprocess.run(
        ["plumbline"], env=environment | variables, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [word.partition(",")[2] for word in done.stdout.split()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("plumbline cam", "campaign"),
        ("plumbline --completion b", "bash"),
        ("plumbline measure MPI_Allg", "MPI_Allgather"),
        ("plumbline verify --guidelines GL1,PL", "GL1,PL1"),
        ("plumbline export json ompi-r", "ompi-rules"),
        ("plumbline lint --format mpich", "mpich-json"),
        ("plumbline results --campaign c-2025", "c-20250301-a"),
    ],
)
def test_values(environment: dict[str, str], line: str, expected: str) -> None:
    assert expected in completed(environment, line)


def test_a_database_that_is_not_there_completes_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    elsewhere = environment | {"PLUMBLINE_DB": str(tmp_path / "none.db")}
    assert completed(elsewhere, "plumbline results --campaign ") == []


# Each asks its own completion for `plumbline measure MPI_Allg`.
ASKS = {
    "bash": "source {script}; COMP_WORDS=(plumbline measure MPI_Allg); COMP_CWORD=2; "
    '_plumbline_completion plumbline; printf "%s\\n" "${{COMPREPLY[@]}}"',
    "zsh": "compdef() {{ :; }}; compadd() {{ print -l -- ${{(P)${{@[-1]}}}}; }}; "
    "_describe() {{ print -l -- ${{(P)3}}; }}; words=(plumbline measure MPI_Allg); CURRENT=3; "
    "source {script} 2>/dev/null; _plumbline_completion",
    "fish": "source {script}; complete --do-complete 'plumbline measure MPI_Allg'",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_in_the_shell_itself(environment: dict[str, str], tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    said = plumbline("--completion", shell)
    assert said.status == 0
    script = tmp_path / f"plumbline.{shell}"
    script.write_text(said.out)
    quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    words = [program, *quiet, "-c", ASKS[shell].format(script=script)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert {"MPI_Allgather", "MPI_Allgatherv"} <= set(done.stdout.split()), done.stderr


def test_no_name_that_a_shell_would_carry_out_is_completed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        for day, name in enumerate(("$(touch x)", 'a";touch', "--help", "c\x1b]0;x"), 2):
            build.later(db, name, day)
    assert completed(environment, "plumbline results --campaign ") == ["c-20250301-a"]
