"""guidelines.toml: complete, consistent with the catalogue, and strict about mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plumbline.guidelines import DEFAULT_PATH, Guidelines, check_against, load
from plumbline_db.errors import PlumblineError, UsageError

CATALOGUE = Path(__file__).parents[2] / "collectives-alt" / "catalogue.def"
FUNCTIONS = Path(__file__).parents[2] / "collectives-alt" / "common" / "functions.def"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_seventeen_in_order(guidelines: Guidelines) -> None:
    assert [entry.id for entry in guidelines.entries()] == [f"GL{n}" for n in range(1, 18)]
    assert guidelines.split.tolerance == 0.05
    assert guidelines.name_of("GL12") == "MPI_Allreduce ⪯ MPI_Reduce + MPI_Bcast"


def test_names_say_what_the_right_side_uses(guidelines: Guidelines) -> None:
    for pattern in guidelines.patterns:
        assert pattern.name == f"{pattern.lhs} ⪯ {' + '.join(pattern.uses)}"
        parts = "_plus_".join(use.removeprefix("MPI_").lower() for use in pattern.uses)
        assert pattern.variant == f"{pattern.lhs.removeprefix('MPI_').lower()}_as_{parts}"


def test_nine_left_hand_functions(guidelines: Guidelines) -> None:
    assert guidelines.lhs_functions() == [
        "MPI_Gather",
        "MPI_Allgather",
        "MPI_Scatter",
        "MPI_Reduce",
        "MPI_Reduce_scatter",
        "MPI_Bcast",
        "MPI_Allreduce",
        "MPI_Reduce_scatter_block",
        "MPI_Scan",
    ]


def test_right_sides_are_in_the_catalogue_under_their_number(guidelines: Guidelines) -> None:
    lines = re.findall(r"PL_VARIANT\((\w+)\)(?:\s*/\* (GL\d+))?", CATALOGUE.read_text())
    numbered = {name: number for name, number in lines if number}
    assert {pattern.variant: pattern.id for pattern in guidelines.patterns} == numbered
    check_against(guidelines, [name for name, _ in lines])


def test_functions_are_known_to_the_probe(guidelines: Guidelines) -> None:
    known = set(re.findall(r'"(MPI_\w+)"', FUNCTIONS.read_text()))
    used = {function for pattern in guidelines.patterns for function in pattern.uses}
    assert {*guidelines.lhs_functions(), *used} <= known


def test_unknown_variant_is_named(guidelines: Guidelines) -> None:
    known = [pattern.variant for pattern in guidelines.patterns if pattern.id != "GL12"]
    with pytest.raises(PlumblineError, match=r"GL12.*'allreduce_as_reduce_plus_bcast'"):
        check_against(guidelines, known)


def test_a_guideline_is_one_entry(tmp_path: Path) -> None:
    entry = """
[[pattern]]
id = "GL18"
name = "MPI_Gather ⪯ MPI_Gatherv"
lhs = "MPI_Gather"
variant = "gather_as_gatherv"
uses = ["MPI_Gatherv"]
"""
    path = write(tmp_path, DEFAULT_PATH.read_text(encoding="utf-8") + entry)
    assert load(path).patterns[-1].variant == "gather_as_gatherv"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "GL4"', 'id = "GL3"', "'GL3': the id is used twice"),
        ('id = "GL4"', 'id = "GL 4"', "'GL 4': the id must be a word"),
        ('name = "MPI_Gather ⪯ MPI_Reduce"', 'name = "Gather"', "'GL4': the name must start"),
        ('variant = "gather_as_reduce"', 'variant = "scan_as_x"', "'GL4': 'scan_as_x' is not a"),
        (
            'variant = "gather_as_reduce"',
            'variant = "gather_as_allgather"',
            "'GL4': variant 'gather_as_allgather' is already in GL3",
        ),
        ('uses = ["MPI_Reduce"]', "uses = []", "'GL4': uses is empty"),
        ('uses = ["MPI_Reduce"]', 'uses = ["Reduce"]', "'GL4': 'Reduce' is not the name"),
        ('uses = ["MPI_Reduce"]', "uses = 3", r"pattern\[1\].uses.*entry 2, id GL4"),
        ('uses = ["MPI_Reduce"]', "speed = 3", r"(?s)speed.*entry 2, id GL4"),
        ("tolerance = 0.05", "tolerance = -1.0", "'GL2': tolerance = -1.0"),
        ("tolerance = 0.05", "tolerance = nan", "'GL2': tolerance = nan"),
        ("tolerance = 0.05", 'tolerance = "5 %"', "split.tolerance"),
        ("[monotony]", "[monotone]", "monoton"),
        ("[split]", "[split", "not a TOML file"),
    ],
)
def test_mistakes_name_file_and_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = DEFAULT_PATH.read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(UsageError, match=message) as caught:
        load(write(tmp_path, text.replace(old, new, 1)))
    assert "mine.toml" in str(caught.value)


def test_missing_and_undecodable_files_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere.toml: cannot be read"):
        load(tmp_path / "nowhere.toml")
    path = tmp_path / "latin1.toml"
    path.write_bytes(b"# \xe4\n")
    with pytest.raises(UsageError, match="not a TOML file"):
        load(path)
