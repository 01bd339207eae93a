"""Every command explains itself, with an example, at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

import plumbline
from plumbline.cli import COMMANDS
from plumbline.cli import plumbline as group
from tests.tuner.cli.command import plumbline as run
from tests.tuner.simulated import ROOT


@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_the_whole(words: list[str]) -> None:
    said = run(*words)
    assert said.status == 0
    lines = said.out.splitlines()
    for name, what in COMMANDS.items():
        assert any(line.split(maxsplit=1) == [name, what] for line in lines), name
    assert "Example:" in said.out


def test_as_a_module() -> None:
    words = [sys.executable, "-m", "plumbline", "--version"]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    assert said.stdout == f"plumbline, version {plumbline.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command(name: str) -> None:
    for option in ("--help", "-h"):
        said = run(name, option)
        assert (said.status, said.err) == (0, "")
        assert said.out.startswith(f"Usage: plumbline {name}")
        _, marked, example = said.out.partition("Example:\n")
        assert marked and f"plumbline {name}" in example


def parts(command: click.Command) -> list[click.Command]:
    if not isinstance(command, click.Group):
        return []
    context = click.Context(command)
    found = [command.get_command(context, name) for name in command.list_commands(context)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    for one in [command, *parts(command)]:
        assert one.help and "Example:" in one.help
        for parameter in one.params:
            if isinstance(parameter, click.Option):
                assert parameter.help or parameter.show_default, (name, parameter.name)


def test_version() -> None:
    said = run("--version")
    assert (said.status, said.out) == (0, f"plumbline, version {plumbline.__version__}\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["results", "--colour"], "No such option"),
        (["campaign", "--nprocs", "four"], "'four' is not a valid integer"),
        (["db", "burn"], "No such command 'burn'"),
        (["run"], "Missing argument"),
        (["serve", "--port", "0"], "0 is not in the range"),
    ],
)
def test_usage_errors(words: list[str], message: str) -> None:
    said = run(*words)
    assert said.status == 2
    assert message in said.err
    assert said.out == ""


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    """So that it answers at once. In a process of its own: this one has loaded everything."""
    code = (
        "import sys\n"
        "from plumbline.cli import main\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    folders = os.pathsep.join(str(ROOT / one) for one in ("tuner", "db", "exporters"))
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": folders},
        cwd=tmp_path,
    )
    loaded = set(done.stderr.split())
    heavy = {"numpy", "scipy", "optuna", "apsw", "rich", "starlette", "msgspec"}
    assert not loaded & heavy
