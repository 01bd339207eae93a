"""`plumbline verify --list` and names of guidelines, and the short form of a campaign."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.cli import digest
from plumbline.core import guidelines
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.records import Export
from plumbline_exporters.bundle import heading
from tests.db import build
from tests.exporters import bundles
from tests.tuner.cli.command import Result, plumbline


def test_every_guideline_is_explained() -> None:
    explained = guidelines.explained(guidelines.load())
    assert len({each.id for each in explained}) == len(explained) > 20
    by_id = {each.id: each for each in explained}
    assert (
        by_id["GL12"].right_side
        == "allreduce_as_reduce_plus_bcast, made of MPI_Reduce and MPI_Bcast"
    )
    assert "Euro-Par 2016" in by_id["GL12"].source
    assert by_id["GL27"].source.startswith("PGMPITuneLib")
    assert by_id["PL2"].source == "Plumbline"
    assert all(each.meaning and each.right_side for each in explained)
    assert msgspec.json.encode(explained)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_word_is_broken(width: int) -> None:
    line = "  GL25  MPI_Reduce_scatter_block ⪯ MPI_Reduce_scatter + MPI_Gatherv: 3 sizes"
    parts = digest._wrapped(line, width)
    assert " ".join(" ".join(parts).split()) == " ".join(line.split())
    assert all(len(part) <= width for part in parts)
    assert digest._wrapped("", width) == [""]


def test_formats_are_listed_as_json() -> None:
    listed = {each["format"]: each for each in plumbline("export", "--list", "--json").json}
    assert listed["env"]["family"] == "openmpi" and listed["json"]["summary"]


def test_a_guideline_is_explained_by_its_id() -> None:
    done = plumbline("verify", "--list", "--guidelines", "GL12")
    assert "allreduce_as_reduce_plus_bcast, made of MPI_Reduce and MPI_Bcast" in done.out
    assert plumbline("verify", "--list", "--guidelines", "GL99").status == 2
    assert len(plumbline("verify", "--list").out.splitlines()) < 100


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.usefixtures("home")
def test_it_ends_in_what_works_for_its_library(tmp_path: Path, simulated: bool) -> None:
    """`plumbline apply` refuses a simulated library; there the exported file is sourced."""
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        campaign = build.done(db)
        if simulated:
            settings = '{"nprocs": 4, "simulate": {"library": "mvapich2"}}'
            db.rows("UPDATE campaign SET settings = :settings", {"settings": settings})
        for name in ("plumbline.json", "plumbline.sh"):
            campaigns.put_export(
                db, campaign.id, Export(name, f"/x/{name}", "0" * 64, campaign.finished)
            )
    said = plumbline("results", "--db", database).out
    assert ("plumbline apply " in said) != simulated
    assert ("plumbline run --" in said) != simulated
    assert (". /x/plumbline.sh && smpirun $PLUMBLINE_SMPIRUN -np 4 " in said) == simulated


def test_winners_are_in_order_and_one_size_stands_once(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        campaign = build.done(db)
        (one, *_) = findings.get_winners(db, campaign.id)
        sizes = [(4096, 8192), (1024, 1024), (16384, 16384)]
        found = [msgspec.structs.replace(one, bytes_from=a, bytes_to=b) for a, b in sizes]
        first = msgspec.structs.replace(one, function="MPI_Allgather")
        findings.put_winners(db, campaign.id, [*found, first])
    for words in ([], ["--all"]):
        said = plumbline("results", *words, "--db", database).out.partition("Winners")[2]
        rows = [line.split() for line in said.splitlines() if line.strip().startswith("MPI_")]
        assert [row[0] for row in rows[:4]] == ["MPI_Allgather", *[one.function] * 3]
        assert [row[1] for row in rows[1:4]] == ["1024", "4096-8192", "16384"]


@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.usefixtures("home")
def test_what_is_to_be_typed_starts(tmp_path: Path, crowded: bool) -> None:
    """Open MPI refuses more ranks than there are cores, unless it is asked for."""
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        build.done(db)
        db.rows("UPDATE campaign SET oversubscribed = :crowded", {"crowded": crowded})
    said = plumbline("results", "--db", database).out
    assert ("plumbline run -- mpirun -np 4 --oversubscribe ./app" in said) == crowded


def test_a_winner_that_removes_nothing_is_said_to(tmp_path: Path) -> None:
    """It is faster, and what is violated stays so: in short, in the tables, in the files."""
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        campaign = build.done(db)
        removing = findings.get_winners(db, campaign.id)
        assert all(each.removes for each in removing)
        in_vain = [msgspec.structs.replace(each, removes=[]) for each in removing]
        usual = plumbline("results", "--db", database).out
        findings.put_winners(db, campaign.id, [*removing, *in_vain[:1]])
    said = " ".join(plumbline("results", "--db", database).out.split())
    assert "; 1 removing no violation for certain" in said and "for certain" not in usual
    tables = " ".join(plumbline("results", "--all", "--db", database).out.split())
    assert tables.count("none for certain") == 1
    lines = heading(bundles.bundle(*removing, *in_vain[:1]), "x")
    assert sum("removes: no violation for certain; it is faster" in one for one in lines) == 1


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", [(), ("--all",), ("--explain",)])
@pytest.mark.parametrize("asked", [None, 60, 132])
def test_lines_fit_in_a_pipe(
    finished: tuple[Path, Result],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    asked: int | None,
) -> None:
    """Lines have 80 columns, or as many as COLUMNS says; a path is not cut, and a command stays on
    one line, so that it can be pasted."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if asked is not None:
        monkeypatch.setenv("COLUMNS", str(asked))
    lines = plumbline("results", *words, "--db", finished[0]).out.splitlines()
    too_long = [line for line in lines if len(line.rstrip()) > (asked or 80)]
    whole = ("/", "for a user: ", "for a site: ", "all tables: ")
    assert all(line.strip().startswith(whole) for line in too_long), too_long
    sites = [line for line in lines if line.startswith("for a site: ")]
    assert all(line.endswith(" --dry-run") for line in sites) and bool(sites) == (not words)
    assert max(len(line.rstrip()) for line in lines) > 50


def test_the_short_form_has_intervals_and_sixty_lines_at_most(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        campaign = build.done(db)
        (one, *_) = findings.get_winners(db, campaign.id)
        at = [1024 * number for number in range(1, 41)]
        long = "a_variant_whose_name_leaves_no_room_on_the_line"
        one = msgspec.structs.replace(one, variant=long, configuration={})
        many = [msgspec.structs.replace(one, bytes_from=size, bytes_to=size) for size in at]
        findings.put_winners(db, campaign.id, many)
        plain = build.verdict("after", verdict="violated")
        functions = [f"MPI_Function_{number}" for number in range(30)]
        left = [msgspec.structs.replace(plain, function=name) for name in functions]
        low = msgspec.structs.replace(plain, function=functions[0], bytes=1, ratio=1.06)
        findings.put_verdicts(db, campaign.id, "after", [*left, low])
    lines = plumbline("results", "--db", database).out.splitlines()
    interval = f"{one.speedup:.2f} [{one.speedup_low:.2f}, {one.speedup_high:.2f}]"
    shown = sum(interval in line for line in lines)
    assert 10 < shown < 40 and f"  and {40 - shown} more" in lines
    ratio = f"{plain.ratio:.2f} [{plain.ratio_low:.2f}, {plain.ratio_high:.2f}]"
    assert any(f"of Function_0: 2 sizes, {ratio}" in line for line in lines)
    assert any(line.startswith("  and ") and line.endswith("more guidelines") for line in lines)
    assert len(lines) <= 60


def test_tables_name_the_guidelines(finished: tuple[Path, Result]) -> None:
    said = plumbline("results", "--all", "--db", finished[0]).out
    winners = said.partition("\nWinners\n")[2].partition("\n\n")[0]
    assert "GL12 Allreduce ⪯ Reduce+Bcast (" in " ".join(winners.split()) and "@" not in winners


def test_a_picture_has_both_tables_and_a_curve(
    finished: tuple[Path, Result], tmp_path: Path
) -> None:
    database, _ = finished
    drawn = tmp_path / "tables.svg"
    assert plumbline("results", "--db", database, "--picture", drawn).status == 0
    told = drawn.read_text()
    assert "before: " in told and "with the winners: " in told and "run time" in told
