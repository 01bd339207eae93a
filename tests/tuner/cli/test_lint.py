"""plumbline lint, as a user calls it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tuner.cli.command import plumbline

HARMFUL = "1\n9\n1\n4\n2\n0 2 0 0\n4096 1 0 0\n"
FINE = "1\n7\n3\n0\n1\n0 0 0 0\n4\n1\n0 6 0 0\n5\n1\n0 0 0 0\n"


@pytest.fixture
def harmful(tmp_path: Path) -> Path:
    path = tmp_path / "decision.file"
    path.write_text(HARMFUL)
    return path


def test_findings_with_line_reason_and_repair(harmful: Path) -> None:
    said = plumbline("lint", harmful)
    assert said.status == 3 and said.err == ""
    assert said.out.startswith(f"{harmful}: ompi-rules: 3 findings\n")
    assert f"{harmful}:7: corrupts: MPI_Gather, 2 ranks and more: the algorithm depends" in said.out
    assert "    repair: keep one rule for all sizes" in said.out


def test_nothing_to_say(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(FINE)
    said = plumbline("lint", path, "--library", "openmpi-5.0.11")
    assert (said.status, said.out) == (0, f"{path}: ompi-rules: nothing to say\n")


def test_json(harmful: Path) -> None:
    said = plumbline("lint", harmful, "--json")
    assert said.status == 3
    (one,) = said.json
    assert {key: one[key] for key in ("path", "format", "named_in")} == {
        "path": str(harmful),
        "format": "ompi-rules",
        "named_in": "",
    }
    assert {"line", "effect", "trap", "reason", "repair"} == set(one["findings"][0])
    assert ("corrupts", 7) in {(each["effect"], each["line"]) for each in one["findings"]}


def test_the_library_decides_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text("rule-file-version-2\n" + FINE)
    assert plumbline("lint", path, "--library", "openmpi-5.0.11").status == 0
    assert "header-too-new" in plumbline("lint", path, "--library", "openmpi-4.1.4").out
    assert "header-too-new" in plumbline("lint", path).out


def test_an_export_for_simulated_ranks(tmp_path: Path) -> None:
    """Its head names a library that the linter knows nothing of."""
    path = tmp_path / "plumbline.sh"
    path.write_text("# library   simgrid-3.32, fingerprint 12ab\nexport PLUMBLINE_SMPIRUN=x\n")
    assert plumbline("lint", path).status == 0


def test_formats_are_listed() -> None:
    said = plumbline("lint", "--list")
    assert said.status == 0
    assert [line.split()[0] for line in said.out.splitlines()] == [
        *("mpich-json", "ompi-json", "ompi-han-rules", "ompi-rules", "mca-params", "env")
    ]


def test_the_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/lint.md shows a file, a command and what it prints; long lines are broken there."""
    page = (Path(__file__).parents[3] / "docs" / "lint.md").read_text()
    blocks = page.split("```\n")
    (shown,) = (block for block in blocks if "Collective ID for" in block)
    (said,) = (block for block in blocks if block.startswith("$ plumbline lint"))
    command, _, expected = re.sub(r"\n {8}", " ", said).partition("\n")
    monkeypatch.chdir(tmp_path)
    Path("decision.file").write_text(shown)
    assert plumbline(*command.split()[2:]).out == expected
