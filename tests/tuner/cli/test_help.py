"""Every command explains itself, with an example, at once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import plumbline
from plumbline.check.acceptance import PAIRS
from plumbline.cli import COMMANDS, RENAMED, base, campaign
from plumbline.cli import plumbline as group
from plumbline.cli.options import AllOrWords, NewFile, NewFolder, Option, PictureFile
from plumbline.settings import campaign_file
from plumbline_db.connection import Database
from tests.tuner.cli.command import plumbline as run
from tests.tuner.cli.command import taken
from tests.tuner.simulated import ROOT
from tests.tuner.started import FOLDERS


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


def every() -> Iterator[tuple[str, base.Command]]:
    """The whole and every command, those of groups too, by the words that call it."""
    yield "", group
    for name in COMMANDS:
        command, _ = taken(name)
        yield name, command
        if isinstance(command, click.Group):
            for word in command.list_commands(click.Context(command)):
                yield f"{name} {word}", taken(name, word)[0]


EVERY = dict(every())
# Where an option is defined; others take it too.
DEFINED = [
    (name, option)
    for name, command in EVERY.items()
    for option in command.params
    if isinstance(option, click.Option)
]


@pytest.mark.parametrize("name", EVERY)
def test_every_option_is_explained(name: str) -> None:
    command = EVERY[name]
    assert command.help and "Example:" in command.help
    assert all(option.help for where, option in DEFINED if where == name)


@pytest.mark.parametrize(("name", "words"), RENAMED.items())
def test_a_name_of_an_earlier_version_prints_the_new_one(name: str, words: str) -> None:
    said = run(name, "--user")
    assert (said.status, said.out) == (2, "")
    assert said.err == f"plumbline: plumbline {name} is now: plumbline {words}\n"
    assert name not in COMMANDS
    command = next((word for word in words.split() if word in COMMANDS), "")
    option = next((word for word in words.split() if word.startswith("--")), "")
    assert option in run(*filter(None, [command]), "--help").out


def test_there_are_not_too_many_commands_and_options() -> None:
    """An option that several commands call by one name counts once."""
    assert len(COMMANDS) <= 24
    assert len({option.opts[-1] for _, option in DEFINED}) <= 90
    assert len(DEFINED) <= 120 + 24


def test_every_option_stands_on_a_page() -> None:
    pages = "".join(page.read_text() for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    told = set(re.findall(r"--[a-z-]+", pages))
    assert {option.opts[-1] for _, option in DEFINED if not told.intersection(option.opts)} == set()


def test_an_idea_has_one_name() -> None:
    """What a name takes, it takes everywhere; what is written has two names."""
    kinds: dict[str, set[bool]] = {}
    for where, option in DEFINED:
        name = option.opts[-1]
        kinds.setdefault(name, set()).add(option.is_flag)
        if isinstance(option.type, NewFile | NewFolder):
            picture = isinstance(option.type, PictureFile)
            names = ["--picture"] if picture else ["--output", "--report"]
            assert name in names, where
        assert not name.endswith(("-time", "-ms", "-seconds")), where  # it is --budget
    assert all(len(found) == 1 for found in kinds.values())
    for name in kinds:
        assert f"{name}s" not in kinds, f"{name} and {name}s"


def test_verify_is_a_campaign_without_its_search() -> None:
    """The same options, as objects."""
    whole, part = taken("campaign")[1], taken("verify")[1]
    own = [option for option in part if option not in whole]
    assert [option.opts for option in own] == [["--all"], ["--list"], ["--refine"], ["--rules"]]
    left = {option.name for option in whole} - {option.name for option in part}
    assert left == set(campaign.SEARCHING)


@pytest.mark.parametrize(
    "words",
    [
        ("--json", "db", "check", "--db", "x"),
        ("db", "--json", "--db", "x", "check"),
        ("db", "check", "--json", "--db", "x"),
        ("--db", "y", "db", "--json", "check", "--db", "x"),
    ],
)
def test_options_of_the_whole_stand_anywhere(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Database.open(Path("x"), write=True).close()
    assert run(*words).json == {"path": "x", "problems": [], "remedy": ""}


def test_options_of_several_commands_say_what_keys_of_campaign_files_say() -> None:
    """They are written twice, as `plumbline --help` loads nothing heavy."""
    keys = campaign_file.keys()
    each = [option for _, option in DEFINED if isinstance(option, Option) and option.shared]
    shared = {str(option.name): option for option in each}
    own = {"campaign", "refine", "rules"}
    assert set(shared) - set(keys) == own
    for name in set(shared) - {*own, "simulate", "sizes"}:
        assert shared[name].help == keys[name].sentence
        assert shared[name].unset == keys[name].default.strip('"')
        if ", " in keys[name].takes:
            assert shared[name].metavar == keys[name].takes.replace(", ", "|")


def test_help_says_the_default_that_is_taken() -> None:
    """A command below a group has its own, and names the options of the whole in one line."""
    said = " ".join(run("overlap", "timeline", "--help").out.split())
    assert "Options of plumbline overlap:" in said and "--quick" not in said
    assert "[default: 524288]" in said and "[default: sender]" in said
    assert said.endswith("Also --mpi, --db, --json: plumbline --help.")
    said = " ".join(run("overlap", "--help").out.split())
    assert "[default: sender, receiver, both, vector, overhead, load]" in said
    assert f"[default: {PAIRS}]" in " ".join(run("check", "--help").out.split())


@pytest.mark.parametrize("words", [[], ["results"], ["watch"], ["run"], ["serve"], ["db", "check"]])
def test_help_loads_nothing_heavy(tmp_path: Path, words: list[str]) -> None:
    """So that it answers at once. In a process of its own: this one has loaded everything."""
    code = (
        "import sys\n"
        "from plumbline.cli import main\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--help"],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": FOLDERS},
        cwd=tmp_path,
    )
    loaded = set(done.stderr.split())
    heavy = {"numpy", "scipy", "apsw", "rich", "starlette"}
    assert not loaded & heavy
    assert words or "msgspec" not in loaded


@pytest.mark.parametrize(
    ("words", "value"),
    [("all", True), ("none", False), ("a,b", ["a", "b"]), ("none,a", ["none", "a"])],
)
def test_all_and_none_are_words_of_their_own(words: str, value: object) -> None:
    assert AllOrWords().convert(words, None, None) == value
