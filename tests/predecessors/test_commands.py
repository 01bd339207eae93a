"""What README and docs tell people to type exists; what is installed works where it is moved to."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.core.application import write
from plumbline.settings.campaign_file import load
from tests.page_commands import FENCED, joined
from tests.predecessors.test_options import commands
from tests.probes.launch import ROOT, Probe
from tests.tuner.applications import application, calls
from tests.tuner.cli.command import taken

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAKEFILE = (ROOT / "Makefile").read_text()
SPAN = re.compile(r"`([^`\n]+)`")


def typed() -> Iterator[tuple[str, str]]:
    """(page, command): every line of a block and every code span that can be typed, cut at what a
    shell cuts at; and the examples in the help of every command."""
    for page in PAGES:
        text = page.read_text()
        lines = [line for block in FENCED.findall(text) for line in joined(block)]
        for line in [*lines, *SPAN.findall(FENCED.sub("", text))]:
            yield from ((page.name, one) for one in _commands(line))
    for words, command, _ in commands():
        for line in joined((command.help or "").partition("Example:")[2]):
            yield from ((" ".join(words), one) for one in _commands(line.strip()))


def _commands(line: str) -> Iterator[str]:
    for part in re.split(r"&&|;|\|| +# ", line):
        words = part.strip()
        if re.match(r"(\S*/)?(plumbline|probe|make)\s", words):
            yield words


TYPED = sorted(set(typed()))


def of_program(name: str) -> list[tuple[str, list[str]]]:
    """(page, words after the program's name); brackets of optional parts are taken off."""
    found = []
    for page, line in TYPED:
        first, *words = shlex.split(line.replace("[", "").replace("]", ""))
        if Path(first).name == name:
            found.append((page, words))
    return found


# --- plumbline ----------------------------------------------------------------------------------


def complaint(words: list[str]) -> str:
    """What is wrong with a command line, without running it: commands and options must exist."""
    try:
        command, options = taken(*words)
    except LookupError as error:
        return str(error)
    known = {name for one in options for name in one.opts} | {"--help", "-h"}
    for word in words:
        if word == "--":
            break
        if word.startswith("-") and word.partition("=")[0] not in known:
            return f"{command.name} has no option {word}"
    return ""


def test_every_documented_command_exists() -> None:
    """3c-7 [run]: `-f` of the README does not exist (`--input-file` does); every command and option
    in our README, docs and help does."""
    found = of_program("plumbline")
    pages = {page for page, _ in found}
    assert {"README.md", "campaign.md", "results.md", "extend.md", "campaign", "measure"} <= pages
    wrong = [(page, words, why) for page, words in found if (why := complaint(words))]
    assert wrong == []


def test_the_check_of_commands_can_fail() -> None:
    assert complaint(["frobnicate"]) == "no command frobnicate"
    assert complaint(["verify", "-f", "input.txt"]) == "verify has no option -f"
    assert complaint(["db", "burn"]) == "no command burn"
    assert complaint(["run", "--", "mpirun", "--anything"]) == ""


def test_every_documented_option_of_the_probe_exists(probe: Probe) -> None:
    """3c-7 [run]: as above, for the probe."""
    said = probe.start([str(probe.binary), "--help"]).stdout
    options = set(re.findall(r"--[a-z-]+", said))
    names = set(re.findall(r"^  ([a-z]\S*) ", said, re.MULTILINE))
    found = of_program("probe")
    assert len(found) >= 3
    for page, words in found:
        for word in words:
            if word.startswith("--"):
                assert word in options, (page, words)
        if words and words[0].islower() and words[0].isalpha():
            assert words[0] in names, (page, words)


# --- make ---------------------------------------------------------------------------------------


def test_every_documented_target_exists() -> None:
    """3c-7 [run]: as above, for make: targets, and variables that the Makefile reads."""
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    found = of_program("make")
    assert {words[0] for _, words in found} >= {"campaign", "test", "install", "build"}
    for page, words in found:
        for word in words:
            name, equals, _ = word.partition("=")
            if equals:
                assert f"$({name})" in MAKEFILE, (page, words)
            elif re.fullmatch(r"[a-z-]+", name) and not name.startswith("-"):
                assert name in targets, (page, words)


# --- examples and links -------------------------------------------------------------------------


def block_of(page: str, starts: str) -> str:
    (found,) = [
        one for one in FENCED.findall((ROOT / "docs" / page).read_text()) if one.startswith(starts)
    ]
    return found


def test_the_example_of_a_campaign_file_is_one(tmp_path: Path) -> None:
    """3c-7: the example input is an empty file; ours is read (what each key says:
    tests/tuner/settings/test_settings_explained.py)."""
    text = block_of("campaign.md", "nprocs")
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    called = calls("MPI_Allreduce", 1024, 100, 1e-5)
    write(tmp_path / tomllib.loads(text)["profile"], application(called))
    (tmp_path / tomllib.loads(text)["preload"][0]).touch()
    assert load(path, {}).ranks.nprocs == tomllib.loads(text)["nprocs"]


def test_the_example_of_a_plan_is_one(probe: Probe) -> None:
    """3c-7: as above, for a plan."""
    path = probe.folder / "plan"
    path.write_text(block_of("plan-and-records.md", "plumbline-plan"))
    launch = probe.start([str(probe.binary), "--check-plan", str(path)])
    assert launch.code == 0, launch.stderr


def test_links_lead_somewhere() -> None:
    """3c-7: as above, for every page and picture that a page points to."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.name, target)


# --- installation -------------------------------------------------------------------------------


def test_every_package_is_in_the_distribution() -> None:
    """3c-7 [run]: the install route leaves out the header, `pgmpi_info` and the tuned library; our
    distribution has every package and every data file that the sources have."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert setup["packages"]["find"]["where"] == ["tuner", "db", "exporters"]
    for room in ("tuner/plumbline", "db/plumbline_db", "exporters/plumbline_exporters"):
        source = ROOT / room
        data = setup["package-data"][source.name]
        kept = {one for pattern in data for one in source.glob(pattern)}
        for path in source.rglob("*"):
            if "__pycache__" in path.parts or path.is_dir():
                continue
            if path.suffix == ".py":
                assert (path.parent / "__init__.py").exists(), path
            else:
                assert path in kept, path


# Leaves out the parts that are bought.
PIP = f"""#!/bin/sh
case "$*" in *requirements/run.txt) exit ;; esac
exec {sys.executable} -m pip "$@"
"""


@pytest.fixture(scope="module")
def installed(build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree made by `make install`, moved to another place; Python parts that are bought come from
    the environment of the tests."""
    stage, tools = tmp_path_factory.mktemp("stage"), tmp_path_factory.mktemp("tools")
    (tools / "pip").write_text(PIP)
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    there = [f"--assume-old=.venv/stamps/{name}" for name in ("python", "run-packages")]
    words = ["make", "install", *there, f"BIN={tools}", f"DESTDIR={stage}", "PREFIX=/opt/plumbline"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    moved = tmp_path_factory.mktemp("moved") / "plumbline"
    shutil.move(stage / "opt" / "plumbline", moved)
    return moved


@pytest.mark.mpi
@pytest.mark.slow
def test_what_is_installed_works(installed: Path, tmp_path: Path) -> None:
    """3c-7 [run]: as above; our installed tree, moved, has its own command, probe and preload
    library, and all of its modules can be imported."""
    env = os.environ | {"PLUMBLINE_PYTHON": sys.executable, "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def said(*words: str | Path) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    command = installed / "bin" / "plumbline"
    assert said(command, "--version").startswith("plumbline, version ")
    checks = said(command, "doctor", "--db", tmp_path / "plumbline.db")
    found = (installed / "libexec" / "plumbline").iterdir()
    (programs,) = (folder for folder in found if folder.name != "detection")
    assert f"{programs}/probe" in checks and f"{programs}/libplumbline.so" in checks
    measured = said(command, "measure", "MPI_Bcast", "--launches", "1", "--nprocs", "2")
    assert "default" in measured
    script = (
        "import pkgutil, importlib, sys; sys.path.insert(0, sys.argv[1])\n"
        "for room in ('plumbline', 'plumbline_db', 'plumbline_exporters'):\n"
        "    top = importlib.import_module(room)\n"
        "    for one in pkgutil.walk_packages(top.__path__, room + '.'):\n"
        "        print(importlib.import_module(one.name).__file__)\n"
    )
    python = installed / "lib" / "plumbline" / "python"
    detect = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from plumbline.detect import core\n"
        "print(bool(core._library()))\n"
    )
    assert said(sys.executable, "-I", "-c", detect, python) == "True\n"
    files = said(sys.executable, "-I", "-c", script, python).splitlines()
    assert len(files) > 50
    share = installed / "share"
    assert (share / "doc" / "plumbline" / "docs" / "campaign.md").is_file()
    assert (share / "man" / "man1" / "plumbline-campaign.1").is_file()
    for shell in ("bash", "zsh", "fish"):
        assert (
            "_PLUMBLINE_COMPLETE"
            in (share / "plumbline/completion" / f"plumbline.{shell}").read_text()
        )
    assert all(Path(one).is_relative_to(python) for one in files)
