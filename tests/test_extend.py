"""What docs/extend.md promises, done by a stranger in a copy of the tree: so many files and no
more, and what was added is known."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("tuner", "db", "exporters")
NOT_COPIED = (".git", ".venv", "build", "state", ".*_cache", ".hypothesis")
NOT_SOURCES = (*NOT_COPIED, "__pycache__")
PLUMBLINE = "from plumbline.cli import main; main()"

# Forks a process for each run of pytest, after it has imported what no tree has a copy of.
FORKING = """
import json, os, sys
import anyio, apsw, click, hypothesis, msgspec, numpy, optuna, pytest, rich, xdist
for line in sys.stdin:
    words, output = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(output, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), 1)
        os.dup2(1, 2)
        status = pytest.main(["-q", "-p", "no:cacheprovider", *words])
        sys.stdout.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Copy:
    """The tree of somebody who follows the recipe under the heading `recipe`."""

    def __init__(self, root: Path, recipe: str) -> None:
        self.root = root
        self._output = root.with_name("pytest.txt")
        self._forking: subprocess.Popen[str] | None = None
        page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
        self.recipe = page.partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
        # What is compiled is copied with its sources: a new process compiles what is touched alone.
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*NOT_COPIED))

    def copies(self, model: str, new: str, **words: str) -> None:
        """`model`, a file that the recipe names, under another name, with other words in it."""
        assert f"`{model}`" in self.recipe
        text = (self.root / model).read_text(encoding="utf-8")
        for old, other in words.items():
            assert old in text
            text = text.replace(old, other)
        (self.root / new).write_text(text, encoding="utf-8")

    def copies_folder(self, model: str, new: str) -> None:
        """`model`, a folder of a family that the recipe names, as that of the stranger's."""
        assert f"`{model}`" in self.recipe
        for path in sorted((self.root / model).glob("*.py")):
            self.writes(f"{new}/{path.name}", strange(path.read_text(encoding="utf-8")))

    def writes(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def adds(self, file: str, before: str, line: str) -> None:
        """A line to a file that the recipe names; at its end, if `before` is empty."""
        assert f"`{file}`" in self.recipe
        text = (self.root / file).read_text(encoding="utf-8")
        head, found, rest = text.partition(before) if before else (text, "", "")
        assert found == before
        (self.root / file).write_text(f"{head}{line}{found}{rest}", encoding="utf-8")

    def touched(self) -> set[str]:
        files = {
            str(path.relative_to(self.root))
            for path in self.root.rglob("*")
            if path.is_file() and not set(NOT_SOURCES) & set(path.parts)
        }
        return {
            name
            for name in files
            if not (ROOT / name).exists() or not filecmp.cmp(self.root / name, ROOT / name, False)
        }

    def build(self) -> None:
        """Brings a copy of what is built up to date. Who depends on what is written by path."""
        mpi_id = self.run("probes/mpi-id.sh", "mpicc").strip()
        built = ROOT / "build" / mpi_id
        if built.is_dir():
            shutil.copytree(built, self.root / "build" / mpi_id)
        for path in (self.root / "build" / mpi_id).rglob("*.d"):
            text = path.read_text()
            path.write_text(text.replace(f"{text.partition('/build/')[0]}/", f"{self.root}/"))
        for room in ("collectives-alt", "probes"):
            self.run("make", "-s", "-C", room, "all")

    def python(self, *words: str) -> str:
        return self.run(sys.executable, *words)

    def passes(self, *tests: str) -> None:
        status, text = self._tested(*tests)
        assert status == 0, text

    def fails(self, test: str, *files: str) -> None:
        """The test `test` does, in these files."""
        name = test.partition("[")[0]
        _, text = self._tested(*files, "-k", name)
        failed = [line for line in text.splitlines() if line.startswith("FAILED")]
        assert any(f"::{test}" in line for line in failed), text

    def _tested(self, *words: str) -> tuple[int, str]:
        """The exit status of pytest in the tree, and what it prints."""
        if self._forking is None:
            command, pipe = [sys.executable, "-c", FORKING], subprocess.PIPE
            self._forking = subprocess.Popen(
                command, cwd=self.root, env=self._environment(), stdin=pipe, stdout=pipe, text=True
            )
        assert self._forking.stdin is not None and self._forking.stdout is not None
        self._forking.stdin.write(json.dumps([words, str(self._output)]) + "\n")
        self._forking.stdin.flush()
        return int(self._forking.stdout.readline()), self._output.read_text()

    def close(self) -> None:
        if self._forking is not None:
            self._forking.communicate()

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words,
            cwd=self.root,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join(str(self.root / room) for room in (*ROOMS, "."))
        unset = ("PYTEST", "PYTHONDONTWRITEBYTECODE")
        env = {name: text for name, text in os.environ.items() if not name.startswith(unset)}
        return env | {"PYTHONPATH": path}


Follow = Callable[[str], Copy]


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Follow]:
    """Makes a tree in which the recipe of this name is followed."""
    with contextlib.ExitStack() as copies:

        def begin(recipe: str) -> Copy:
            return copies.enter_context(contextlib.closing(Copy(tmp_path / "tree", recipe)))

        yield begin


def test_a_guideline_is_one_file(follow: Follow) -> None:
    copy = follow("A pattern guideline")
    guidelines = "tuner/plumbline/core/guidelines.toml"
    row = '{ id = "PL999", name = "MPI_Gather + MPI_Bcast ⪯ MPI_Allgather", default = false },\n'
    copy.adds(guidelines, "]\n\n", f"    {row}")
    copy.passes("tests/verify/test_guidelines.py")
    script = "from plumbline.core import guidelines; print(guidelines.load().name_of('PL999'))"
    assert copy.python("-c", script) == "MPI_Gather + MPI_Bcast ⪯ MPI_Allgather\n"
    assert copy.touched() == {guidelines}


def test_an_exporter_is_two_files(follow: Follow, tmp_path: Path) -> None:
    copy = follow("An export format")
    registry, new = (
        f"exporters/plumbline_exporters/{name}.py" for name in ("registry", "a_stranger")
    )
    copy.copies(
        "exporters/plumbline_exporters/winners_json.py",
        new,
        **{'"json"': '"a-stranger"', "plumbline.json": "stranger.json"},
    )
    copy.adds(registry, '    "winners_json",\n', '    "a_stranger",\n')
    copy.passes(
        "tests/exporters/test_registry.py",
        "tests/exporters/lint/test_exports_are_clean.py",
        *("-k", "TestEveryFormat or unknown or table or another_library or exported_files"),
    )
    assert "\na-stranger " in copy.python("-c", PLUMBLINE, "export", "--list")
    script = (
        "import pathlib, sys; from plumbline_exporters.registry import write\n"
        "from tests.exporters.test_registry import placed\n"
        "write(placed(pathlib.Path(sys.argv[1])), ['a-stranger'])"
    )
    copy.python("-c", script, str(tmp_path / "out"))
    document = json.loads((tmp_path / "out" / "stranger.json").read_text())
    assert document["winners"]
    assert copy.touched() == {registry, new}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mpicc") is None, reason="no mpicc on PATH")
def test_a_variant_is_two_files(follow: Follow) -> None:
    copy = follow("A variant")
    catalogue, new = "collectives-alt/catalogue.def", "collectives-alt/bcast/stranger.c"
    copy.copies(
        "collectives-alt/bcast/scatter_ring_allgather.c",
        new,
        bcast_scatter_ring_allgather="bcast_stranger",
    )
    copy.adds(catalogue, "PL_VARIANT(bcast_linear)\n", "PL_VARIANT(bcast_stranger)\n")
    copy.build()
    listed = json.loads(copy.python("-c", PLUMBLINE, "variants", "MPI_Bcast", "--json"))
    (stranger,) = (one for one in listed if one["name"] == "bcast_stranger")
    assert stranger["kind"] == "algorithm" and stranger["deployable"]
    copy.passes("tests/verify/test_guidelines.py", "tests/tuner/model/test_names.py")
    assert copy.touched() == {catalogue, new}


# --- a library family ----------------------------------------------------------------------------

LIBRARY = "tuner/plumbline/libraries/strangempi"
FILES = "exporters/plumbline_exporters/family/strangempi"
SPACE = "search-spaces/strangempi.toml"
MPI_ID = "probes/mpi-id.sh"
RECORDED = "tests/tuner/families/recorded/strangempi.py"
CONFORMANCE = "tests/tuner/families/test_strangempi.py"
PARTS = "tests/tuner/families/test_parts.py"

SPACE_TEXT = """\
min_version = "2021.17"
below_version = "2021.18"
prefixes = ["STRANGE_ADJUST_"]

[[function]]
name = "MPI_Bcast"
knob = "STRANGE_ADJUST_BCAST"
sizes = "each"
summary = "The root's data to all ranks."
algorithms = [
    { id = 1, name = "1", schedule = "binomial", summary = "binomial tree" },
    { id = 2, name = "2", summary = "something else" },
]

[[function]]
name = "MPI_Reduce_scatter_block"
knob = "STRANGE_ADJUST_REDUCE_SCATTER_BLOCK"
sizes = "each"
summary = "A reduction whose result is spread over the ranks."
algorithms = [
    { id = 1, name = "1", summary = "something" },
    { id = 2, name = "2", commutative_only = true, summary = "something else" },
]
"""

CONFORMANCE_TEXT = """\
from plumbline.libraries.strangempi import LOUD, StrangeMpi
from tests.exporters.bundles import everywhere
from tests.tuner.families.conformance import Conformance


class TestStrangeMpi(Conformance):
    family = StrangeMpi()
    same = (("Copyright 2003-2025", "Copyright 2003-2026"),)
    different = (("2ac2f63", "2ac2f64"),)
    own = ("STRANGE_ROOT", "LD_LIBRARY_PATH", "FI_PROVIDER_PATH")
    loud = tuple(LOUD)
    winners = (everywhere("MPI_Bcast", STRANGE_ADJUST_BCAST="2"),)

    def in_force(self, winner, environment):
        return ";2:" in environment["STRANGE_ADJUST_BCAST"]
"""


def strange(text: str) -> str:
    """What a stranger makes of the files of Intel MPI."""
    words = {"intelmpi": "strangempi", "IntelMpi": "StrangeMpi", "Intel MPI": "Strange MPI"}
    words |= {"I_MPI_": "STRANGE_", "impi_info": "strange_info", "impi-env": "strange-env"}
    for old, new in words.items():
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A tree with one family more."""
    copy = Copy(tmp_path_factory.mktemp("family") / "tree", "A library family")
    for new in (LIBRARY, FILES):
        copy.copies_folder(new.replace("strangempi", "intelmpi"), new)
    copy.writes(SPACE, SPACE_TEXT)
    lines = ("#elif defined(STRANGE_VERSION)", "PL_ID strangempi - STRANGE_VERSION")
    before = "    '#elif defined(MPICH_VERSION)' \\\n"
    copy.adds(MPI_ID, before, "".join(f"    '{line}' \\\n" for line in lines))
    model = copy.root / RECORDED.replace("strangempi", "intelmpi")
    copy.writes(RECORDED, strange(model.read_text(encoding="utf-8")))
    copy.writes(CONFORMANCE, CONFORMANCE_TEXT)
    with contextlib.closing(copy):
        yield copy


@pytest.mark.slow
def test_a_library_family_is_its_folders_its_space_and_its_facts(family: Copy) -> None:
    family.passes(CONFORMANCE, PARTS)
    folders = {f"{folder}/__init__.py" for folder in (LIBRARY, FILES)}
    assert family.touched() == folders | {SPACE, MPI_ID, RECORDED, CONFORMANCE}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "name"),
    [
        (LIBRARY, "tuner"),
        (FILES, "exporters"),
        (SPACE, "search space"),
        (RECORDED, "recorded installation"),
        (CONFORMANCE, "test of conformance"),
    ],
)
def test_a_part_that_is_left_out_is_named(family: Copy, part: str, name: str) -> None:
    away = family.root / "left-out"
    (family.root / part).rename(away)
    try:
        family.fails(f"test_every_family_has_it[strangempi-{name}]", PARTS)
    finally:
        away.rename(family.root / part)


# What is left out of which file, and the test that says so.
LEFT_OUT = {
    "id of what is built": (
        MPI_ID,
        "PL_ID strangempi",
        "PL_ID mpich",
        "test_its_programs_are_found_under_the_id_that_they_are_built_for",
    ),
    "beginnings of variables": (
        f"{FILES}/__init__.py",
        r"    prefixes=.*\n",
        "",
        "test_its_variables_reach_it",
    ),
    "format": (
        f"{FILES}/__init__.py",
        r"@exporter\(.*\n",
        "",
        "test_a_format_of_its_own_writes_what_shells_source",
    ),
    "guard": (
        f"{FILES}/__init__.py",
        "question=question",
        "question=lambda library: None",
        "test_exported_scripts_guard_against_another_version",
    ),
    "lint": (
        f"{FILES}/__init__.py",
        r"(?s)    lint=Linting\(.*?\n    \),\n",
        "",
        "test_the_linter_finds_what_the_library_does_not_take",
    ),
    "findings": (
        f"{FILES}/__init__.py",
        "findings=findings",
        "findings=lambda given, target: []",
        "test_the_linter_finds_what_the_library_does_not_take",
    ),
    "profile": (
        f"{LIBRARY}/__init__.py",
        r"\(hydra.Started\):",
        ":\n    launcher_prefixes = ()",
        "test_a_profile_of_an_application_can_be_recorded",
    ),
    "explain": (
        SPACE,
        'schedule = "binomial", ',
        "",
        "test_explain_knows_how_some_of_its_algorithms_send",
    ),
    "canary": (
        f"{LIBRARY}/__init__.py",
        "        loud = {[*][*]LOUD, [*][*]environment}",
        "        return []",
        "test_canaries_corrupt_what_is_exported_and_nothing_else",
    ),
    "settings": (
        f"{LIBRARY}/__init__.py",
        r"_SETTINGS\.match\(name\) or ",
        "",
        "test_what_the_space_says_is_set_and_recognised",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_a_family_forgets_is_named(family: Copy, what: str) -> None:
    file, pattern, other, test = LEFT_OUT[what]
    path = family.root / file
    whole = path.read_text(encoding="utf-8")
    text, count = re.subn(pattern, other, whole)
    assert count == 1
    path.write_text(text, encoding="utf-8")
    try:
        family.fails(test, CONFORMANCE)
    finally:
        path.write_text(whole, encoding="utf-8")
