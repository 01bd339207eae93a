"""Each family has all its parts: what one of them knows, the others know too."""

from __future__ import annotations

import ast
import pkgutil
import re
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries import built
from plumbline_exporters import families
from plumbline_exporters import family as exporters
from tests.tuner.families import installations
from tests.tuner.families.installations import ROOT

PARTS = {
    "tuner": {module.name for module in pkgutil.iter_modules(libraries.__path__) if module.ispkg},
    "exporters": {
        module.name for module in pkgutil.iter_modules(exporters.__path__) if module.ispkg
    },
    "search space": {path.stem for path in (ROOT / "search-spaces").glob("*.toml")},
    "recorded installation": set(installations.all_recorded()),
    "test of conformance": {
        path.stem.removeprefix("test_")
        for path in Path(__file__).parent.glob("test_*.py")
        if re.search(r"^class \w+\(Conformance\):", path.read_text(encoding="utf-8"), re.MULTILINE)
    },
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("family", sorted(set().union(*PARTS.values())))
def test_every_family_has_it(family: str, part: str) -> None:
    assert family in PARTS[part]


# Elsewhere a name stands in texts for people (as commands do anyway), and where a machine is
# simulated, which is SimGrid's alone.
SPEAKING = {"families.py", "shell_file.py", "libraries/__init__.py"}
SIMULATING = {
    *("simulated.py", "simulation.py", "doctor.py", "simulated_pingpong.py"),
    "selectors.py",
    "traces.py",  # a format of files
}
# To be asked of families too: which variables a launcher makes anew, and which ones bind ranks.
LEFT = {"measure/factors.py", "campaign/in_force.py"}


def words_of(path: Path) -> str:
    """Names of imported modules, and texts but for docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    words = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    constants = [node for node in nodes if isinstance(node, ast.Constant)]
    words += [str(node.value) for node in constants if id(node) not in docstrings]
    return "\n".join(words)


def test_nobody_else_names_a_family() -> None:
    """Nor a variable of one: these stand in the folders of families."""
    names = "|".join(PARTS["exporters"])
    named = re.compile(rf"\b(?:{names})\b|{'|'.join(families.prefixes())}")
    rooms = ("tuner/plumbline", "exporters/plumbline_exporters", "db/plumbline_db")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    found = {
        str(path.relative_to(ROOT))
        for path in paths
        if not {"cli", *PARTS["exporters"]} & set(path.parts) and named.search(words_of(path))
    }
    allowed = (*SPEAKING, *SIMULATING, *LEFT)
    assert {name for name in found if not name.endswith(allowed)} == set()


def test_a_folder_of_links_to_its_programs_is_the_same_installation(tmp_path: Path) -> None:
    """As in ~/bin, or where a site links what its users may start."""
    for name in ("opt/bin", "opt/lib", "links"):
        (tmp_path / name).mkdir(parents=True)
    mpirun = tmp_path / "opt" / "bin" / "mpirun"
    mpirun.write_text("#!/bin/sh\n")
    (tmp_path / "opt" / "lib" / "libmpi.so").write_bytes(b"one build")
    link = tmp_path / "links" / "mpirun"
    link.symlink_to(mpirun)
    assert built.facts(link) == built.facts(mpirun) != [str(mpirun)]
