"""`--rules`, guidelines that are left out by name, one message size, and guidelines of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.core import guidelines
from plumbline.verify.paper import KINDS, REASONS, RULES
from plumbline_db import campaigns
from plumbline_db.connection import Database
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.simulated import SimulatedStarter

OWN = """
pattern = [
    { id = "my1", name = "MPI_Allreduce ⪯ MPI_Reduce + MPI_Bcast" },
]
"""
ONE_SIZE = ("--nprocs", "4", "--sizes", "16384", "--launches", "12")


@pytest.mark.parametrize("rules", RULES)
def test_a_finished_campaign_by_the_rules_of_the_paper(
    rules: str, finished: tuple[Path, Result]
) -> None:
    database, _ = finished
    words = ("results", "--rules", rules, "--db", database)
    said = plumbline(*words, "--json")
    assert said.status == 0, said.err
    document = said.json
    assert (document["rules"], document["test"]) == (rules, RULES[rules].name)
    before = document["before"]
    own = plumbline("results", "--all", "--json", "--db", database).json["before"]["cells_all"]
    violated = {
        (cell["guideline"], cell["function"], cell["bytes"])
        for cell in own
        if cell["verdict"] == "violated"
    }
    by_paper = {
        (cell["guideline"], cell["function"], cell["bytes"])
        for cell in before["cells"]
        if cell["verdict"] == "violated"
    }
    assert by_paper, "the planted cells are slower by far more than noise"
    differing = {
        (each["paper"]["guideline"], each["paper"]["function"], each["paper"]["bytes"])
        for each in before["differences"]
    }
    assert differing == by_paper ^ violated
    assert {each["reason"] for each in before["differences"]} <= REASONS.keys()
    counts = before["counts"]
    assert sum(counts[kind]["paper"] for kind in KINDS) == len(by_paper)
    assert sum(counts[kind]["both"] for kind in KINDS) == len(by_paper & violated)
    assert all(cell["p_adjusted"] is None for cell in before["cells"])
    shown = plumbline(*words).out
    assert f"Before, by the rules of PGMPI ({RULES[rules].name}, p < 0.05" in " ".join(
        shown.split()
    )
    assert "After, by the rules of PGMPI" in " ".join(shown.split())
    for reason in {each["reason"] for each in before["differences"]}:
        assert f"\n{reason} (" in shown


def test_verify_ends_with_the_verdict_of_the_rules(
    starter: SimulatedStarter, tmp_path: Path
) -> None:
    words = ("verify", "--nprocs", "4", "--sizes", "1024,16384", "--launches", "12")
    said = plumbline(*words, "--guidelines", "GL12", "--rules", "paper", "--db", tmp_path / "a.db")
    assert said.status == 3, said.err
    assert "by the rules of PGMPI" in " ".join(said.out.split())


def test_one_size_is_enough_and_gl1_and_gl2_can_be_left_out(
    starter: SimulatedStarter, tmp_path: Path
) -> None:
    database = tmp_path / "a.db"
    words = ("verify", "--nprocs", "4", "--launches", "12", "--all", "--json", "--db", database)
    cases = (
        ("16384", "GL12", {"GL12"}),
        ("1024,16384", "GL12", {"GL1", "GL2", "GL12"}),
        ("1024,16384", "GL12,-GL1", {"GL2", "GL12"}),
        ("1024,16384", "GL12,-gl1,-GL2", {"GL12"}),
    )
    for sizes, names, verified in cases:
        said = plumbline(*words, "--sizes", sizes, "--guidelines", names)
        assert said.status == 3, said.err
        assert {cell["guideline"] for cell in said.json["before"]["cells_all"]} == verified
        assert said.json["without_cells"] == []
    with Database.open(database) as db:
        assert len(campaigns.every(db)) == len(cases)


def test_guidelines_of_a_file(starter: SimulatedStarter, tmp_path: Path) -> None:
    """They are read once: the campaign has a copy, by which its results are named later."""
    file, database = tmp_path / "own.toml", tmp_path / "a.db"
    file.write_text(OWN)
    said = plumbline("verify", "--list", "--guidelines-file", file)
    assert "my1   MPI_Allreduce ⪯ MPI_Reduce + MPI_Bcast" in said.out
    assert "GL1 " in said.out and "GL12" not in said.out
    said = plumbline("verify", "--list", "--guidelines-file", file, "--guidelines", "my1")
    assert "from: a file of your own" in said.out
    words = ("verify", *ONE_SIZE, "--db", database, "--guidelines-file", file)
    assert plumbline(*words).status in (0, 3)
    with Database.open(database) as db:
        (campaign,) = campaigns.every(db)
    stored = guidelines.of_settings(campaign.settings)
    assert [pattern.id for pattern in stored.patterns] == ["my1"]
    assert stored.split == guidelines.load().split
    file.write_text("nonsense")
    assert plumbline("results", "--db", database).status == 0
    said = plumbline(*words)
    assert said.status == 2 and str(file) in said.err
