"""What docs/extend.md promises, done by a stranger in a copy of the tree: so many files and no
more, and what was added is known."""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("tuner", "db", "exporters")
NOT_SOURCES = (".git", ".venv", "build", "state", "__pycache__", ".*_cache", ".hypothesis")
PLUMBLINE = "from plumbline.cli import main; main()"


class Copy:
    """The tree of somebody who follows the recipe under the heading `recipe`."""

    def __init__(self, root: Path, recipe: str) -> None:
        self.root = root
        page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
        self.recipe = page.partition(f"\n## {recipe}\n")[2].partition("\n## ")[0]
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*NOT_SOURCES))

    def copies(self, model: str, new: str, **words: str) -> None:
        """`model`, a file that the recipe names, under another name, with other words in it."""
        assert f"`{model}`" in self.recipe
        text = (self.root / model).read_text(encoding="utf-8")
        for old, other in words.items():
            assert old in text
            text = text.replace(old, other)
        (self.root / new).write_text(text, encoding="utf-8")

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
        self.python("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)

    def run(self, *words: str) -> str:
        path = os.pathsep.join(str(self.root / room) for room in (*ROOMS, "."))
        env = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
        done = subprocess.run(
            words,
            cwd=self.root,
            env=env | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def test_a_guideline_is_one_file(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "tree", "A pattern guideline")
    guidelines = "tuner/plumbline/core/guidelines.toml"
    copy.adds(
        guidelines,
        "",
        """
[[pattern]]
id = "PL999"
name = "MPI_Gather + MPI_Bcast ⪯ MPI_Allgather"
lhs = "MPI_Allgather"
lhs_variant = "allgather_as_gather_plus_bcast"
variant = "default"
uses = ["MPI_Allgather"]
default = false
""",
    )
    copy.passes("tests/verify/test_guidelines.py")
    script = "from plumbline.core import guidelines; print(guidelines.load().name_of('PL999'))"
    assert copy.python("-c", script) == "MPI_Gather + MPI_Bcast ⪯ MPI_Allgather\n"
    assert copy.touched() == {guidelines}


def test_an_exporter_is_two_files(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "tree", "An export format")
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
def test_a_variant_is_two_files(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "tree", "A variant")
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
