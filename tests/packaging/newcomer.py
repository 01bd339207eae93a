"""A newcomer's ten minutes: README's commands, typed one after the other as they are, in a fresh
clone, and those for a wheel in an empty folder (`make test-newcomer`). Nothing else is known to the
newcomer than README; what is printed must have the shape that README shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.packaging import wheel
from tests.packaging.places import APPLICATION
from tests.packaging.wheel import ROOT
from tests.page_commands import FENCED

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(3600)]

# How packages reach this machine: an index, a proxy, certificates.
_INDEX = re.compile(r"PIP_|SSL_CERT_|REQUESTS_CA_|(https?|no)_proxy$", re.IGNORECASE)
README = (ROOT / "README.md").read_text()
# For one command.
MOST_SECONDS = 1800  # for a command
NOT_TYPED = {"make test": "a quarter of an hour; CI types it in each fresh clone"}
# What a command prints besides what a block shows, as a pattern.
PRINTS = {
    "run -- mpirun": r"winners? of openmpi\S+ in force",
    "apply --modules modules --dry-run": r"would be applied: openmpi",
    "apply --modules modules": r"plumbline: module use \S+ && module load plumbline/openmpi",
    "apply --undo --modules modules": r"^plumbline: applied: nothing$",
    "doctor": r"^ok +launch ",
    "results --picture": r"^results\.svg$",
    "results": r"^for a user:  ",
    "build": r"^next: plumbline/bin/plumbline doctor, plumbline/bin/plumbline campaign$",
}


def blocks() -> list[list[str]]:
    """Return the lines of README's blocks that are commands, without comments."""
    found = [block.splitlines() for block in FENCED.findall(README)]
    found = [lines for lines in found if not lines[0].startswith("$ ")]
    return [[re.sub(r"\s+#.*", "", line) for line in lines] for lines in found]


def shown() -> list[str]:
    """Return the lines that README shows below `$ make campaign`."""
    (block,) = (one for one in FENCED.findall(README) if one.startswith("$ make campaign\n"))
    return [line for line in block.splitlines()[1:] if line != "…"]


def shape(line: str) -> str:
    """Return a line without its numbers, counted words and what a busy machine adds."""
    line = re.sub(r"openmpi\S+", "ID", line)
    head = re.split(r"(?<=:) |[;,(]", line)[0] if not line.startswith("for a ") else line
    return re.sub(r"\d+(\.\d+)?", "N", head).rstrip("s ")


def is_of_wheel(lines: list[str]) -> bool:
    return any("pip install" in line for line in lines)


class Newcomer:
    """A shell in a folder, with an empty home and the machine's own commands."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        reach = {name: value for name, value in os.environ.items() if _INDEX.match(name)}
        self.environment = reach | {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }

    def types(self, line: str) -> str:
        """Type a line; 3 is an answer, that something is slower or violated. Returns all that was
        printed."""
        with subprocess.Popen(
            ["bash", "-c", line],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        ) as started:  # fmt: skip
            try:
                told, _ = started.communicate(timeout=MOST_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(started.pid, signal.SIGTERM)  # a campaign ends its ranks itself
                raise
        print(f"{started.returncode}  {line}")
        assert started.returncode in (0, 3) and "Traceback" not in told, f"{line}\n{told}"
        return told

    def types_all(self, lines: list[str]) -> Iterator[tuple[str, str]]:
        for line in lines:
            if line not in NOT_TYPED:
                told = self.types(line)
                for words, pattern in PRINTS.items():
                    if re.search(rf"(^| ){re.escape(words)}( |$)", line.partition(" ")[2]):
                        assert re.search(pattern, told, re.MULTILINE), f"{line}\n{told}"
                        break
                yield line, told


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, timeout=300)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_what_is_not_typed_stands_in_the_readme() -> None:
    assert {line for lines in blocks() for line in lines} >= NOT_TYPED.keys()
    assert len([lines for lines in blocks() if is_of_wheel(lines)]) == 1
    assert not re.search(r"<[a-z ]+>", "\n".join(line for lines in blocks() for line in lines))


def test_in_a_fresh_clone(clone: Path, home: Path) -> None:
    newcomer = Newcomer(clone, home)
    newcomer.types(f"mpicc {APPLICATION} -o app")  # "your program"
    lines = [line for lines in blocks() if not is_of_wheel(lines) for line in lines]
    assert lines[0] == "make campaign"
    module = clone / "modules" / "plumbline"
    for line, told in newcomer.types_all(lines):
        if line == "make campaign":
            ends_as_shown(told)
            for command in next_commands(told):
                newcomer.types(command)
        if line.endswith(" apply --modules modules"):
            assert list(module.glob("openmpi-*.lua"))
        if line.endswith(" apply --undo --modules modules"):
            assert not list(module.glob("*"))


def test_from_a_wheel(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    wheel.make(folder)
    newcomer = Newcomer(folder, home)
    newcomer.types(f"mpicc {APPLICATION} -o app")
    (lines,) = (lines for lines in blocks() if is_of_wheel(lines))
    for line, told in newcomer.types_all(lines):
        if line.endswith("plumbline campaign"):
            assert "plumbline/bin/plumbline results --all " in told
            for command in next_commands(told):
                newcomer.types(command)


def ends_as_shown(told: str) -> None:
    """A campaign that found something ends in the lines that README shows; what it says of load is
    of that moment."""
    wanted = [shape(line) for line in whole(shown()) if not line.startswith("other programs")]
    there = {shape(line) for line in whole(told.splitlines())}
    assert len(wanted) >= 5
    assert [line for line in wanted if line not in there] == [], told


def whole(lines: Iterable[str]) -> list[str]:
    """Return the lines, each with those that go on with it: a terminal is as wide as it is."""
    return re.sub(r"\n {4}(?=\S)", " ", "\n".join(lines)).splitlines()


def next_commands(told: str) -> list[str]:
    """Return the commands that a campaign tells people to type."""
    found = re.findall(r"^(?:for a user|for a site|all tables):  (.*)$", told, re.MULTILINE)
    assert len(found) == 3, told
    return found
