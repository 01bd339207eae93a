"""Commands import what they need: help and small reads leave out what computes, draws, serves or
launches.

Each runs in an interpreter of its own; times are for `make bench`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.cli import COMMANDS
from tests.tuner.cli.command import Result

# Runs commands, each a list of words, and prints the names of the modules that are there then.
RUN = """
import contextlib, io, json, sys
from plumbline.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["plumbline", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main()
        except SystemExit as end:
            assert end.code in (0, 3), (words, end.code)
    assert out.getvalue(), words
print(json.dumps(sorted(sys.modules)))
"""

SERVES = {"starlette", "uvicorn", "jinja2", "prometheus_client", "asyncio", "http.client"}
COMPUTES = {"optuna", "scipy", "pandas", "vl_convert", "pyarrow"}
LAUNCHES = {"plumbline.launch.starter", "plumbline.measure.launches", "plumbline.campaign"}
NEVER = SERVES | COMPUTES | LAUNCHES
OTHER_FAMILIES = {"plumbline.libraries.mpich", "plumbline.libraries.mvapich2"}
SETTINGS = {"plumbline.settings", "plumbline.launch"}
OF_TABLES = NEVER | OTHER_FAMILIES | {"plumbline_db.integrity", "plumbline.applied"}
OF_HELP = NEVER | {"numpy", "rich"}
OF_LISTS = OF_HELP | {"plumbline.measure", "plumbline.search", "plumbline.verify"}


def imported(*commands: list[str]) -> set[str]:
    words = [sys.executable, "-c", RUN, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_help_of_all_commands_imports_nothing_heavy() -> None:
    """Also that of the commands below groups."""
    commands = [["--help"], *([name, "--help"] for name in COMMANDS)]
    commands += [["db", name, "--help"] for name in ("check", "prune", "export", "table")]
    assert imported(*commands) & OF_HELP == set()


@pytest.mark.parametrize(
    ("words", "forbidden"),
    [
        (["results", "--list"], OF_LISTS | SETTINGS),
        (["export", "--list"], OF_LISTS),
        (["verify", "--list"], OF_LISTS | SETTINGS | {"apsw"}),
        (["results"], NEVER | SETTINGS | OTHER_FAMILIES | {"rich"}),
        (["results", "--json"], NEVER | SETTINGS | {"rich"}),
        (["results", "--all"], OF_TABLES | SETTINGS),
        (["results", "--explain"], OF_TABLES),  # it reads the counters of samples
        (["advise", "allreduce", "--np", "4", "--bytes", "16384"], NEVER),
        (["watch", "--status"], OF_TABLES | SETTINGS | {"numpy", "plumbline.libraries"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_reading_a_small_database_imports_only_what_it_needs(
    finished: tuple[Path, Result], words: list[str], forbidden: set[str]
) -> None:
    database = [] if words[0] == "verify" else ["--db", str(finished[0])]
    assert imported([*words, *database]) & forbidden == set()
