"""plumbline db: samples thrown away, files between sites, tables for other programs."""

from __future__ import annotations

import csv
import io
import socket
from pathlib import Path

import msgspec
import pytest

from plumbline_db import campaigns, old_samples, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import Samples
from plumbline_exporters import quoting
from tests.db import build
from tests.tuner.cli.command import plumbline

CAMPAIGN = build.CAMPAIGN.id


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.done(db)
        build.later(db, "second", 2)
    return path


def test_samples_are_thrown_away_and_it_is_said(database: Path) -> None:
    would = plumbline("db", "prune", "--keep", "1", "--list", "--db", database)
    assert would.out == (
        f"{CAMPAIGN}: 420 samples of 6 cases\n"
        "420 samples of 1 campaign thrown away; n, medians, quantiles and verdicts stay "
        "(not yet: --list)\n"
    )
    results = plumbline("results", "--campaign", CAMPAIGN, "--json", "--db", database).json
    said = plumbline("db", "prune", "--keep", "1", "--keep", "0d", "--db", database)
    assert said.status == 0
    assert "kept are those of 0 days and of the last 1 campaigns" in said.out
    assert " MB -> " in said.out
    assert plumbline("db", "check", "--db", database).status == 0
    after = plumbline("results", "--campaign", CAMPAIGN, "--json", "--db", database).json
    assert after == results
    again = plumbline("db", "prune", "--keep", "1", "--json", "--db", database).json
    assert again["pruned"] == [] and again["pruned_now"]
    gone = plumbline("compare", CAMPAIGN, f"{CAMPAIGN}:after", "--db", database)
    assert gone.status == 1 and f"samples of campaign {CAMPAIGN} were thrown away" in gone.err


@pytest.mark.parametrize("keep", [(), ("--keep", "x"), ("--keep", "-1"), ("--keep", "1w")])
def test_whose_samples_stay_must_be_said(database: Path, keep: tuple[str, ...]) -> None:
    said = plumbline("db", "prune", *keep, "--db", database)
    assert said.status == 2 and "90d" in said.err
    with Database.open(database) as db:
        assert old_samples.listing(db) == []


def test_who_has_the_file_is_not_disturbed(database: Path) -> None:
    with Database.open(database, write=True):
        for words in (("prune", "--keep", "1"), ("compact",)):
            said = plumbline("db", *words, "--db", database)
            assert said.status == 75 and "is being written by process" in said.err
    said = plumbline("db", "compact", "--json", "--db", database).json
    assert said["bytes"] <= said["bytes_before"]
    missing = database.with_name("missing.db")
    for words in (("prune", "--keep", "1"), ("compact",), ("export", "x"), ("table", "medians")):
        assert plumbline("db", *words, "--db", missing).status == 1
    assert not missing.exists()


def test_campaigns_go_to_another_site(database: Path, tmp_path: Path) -> None:
    file, there = tmp_path / "sent.plumbline", tmp_path / "there.db"
    said = plumbline("db", "export", file, CAMPAIGN, "--db", database)
    assert said.out.startswith(f"{file}: {CAMPAIGN}, sha256 ")
    first = plumbline("db", "import", file, "--db", there)
    came = f"{socket.gethostname()}:{CAMPAIGN}"
    assert first.out.startswith(f"{there}: {came}, sha256 ")
    again = plumbline("db", "import", file, "--db", there)
    assert again.out == first.out.replace("\n", ", which is there already\n")
    (sent,) = plumbline("db", "import", file, "--json", "--db", there).json["runs"]
    assert sent["run"] == came and not sent["new"]
    with Database.open(there) as db:
        assert [one.id for one in campaigns.all_campaigns(db)] == [came]


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_tables_in_csv(database: Path, tmp_path: Path) -> None:
    medians = _rows(plumbline("db", "table", "medians", "--db", database).out)
    assert {(row["run"], row["suite"]) for row in medians} == {(CAMPAIGN, "before")}
    assert [row["variant"] for row in medians] == ["default", build.REDUCE_PLUS_BCAST] * 3
    verdicts = _rows(plumbline("db", "table", "verdicts", CAMPAIGN, "--db", database).out)
    assert [row["verdict"] for row in verdicts][:3] == ["violated", "violated", "undecided"]
    assert verdicts[2]["ratio"] == ""
    winners = _rows(plumbline("db", "table", "winners", "--db", database).out)
    assert msgspec.json.decode(winners[0]["configuration"]) == build.winner().configuration
    file = tmp_path / "samples.csv"
    said = plumbline("db", "table", "samples", "--output", file, "--db", database)
    assert said.out == f"{file}: 420 rows\n"
    samples = _rows(file.read_text())
    launch = build.run(sequence=1)
    with Database.open(database) as db:
        wanted = [one for case in (0, 1) for one in runs.samples(db, launch.id, case)]
    found = [row for row in samples if row["launch"] == launch.id]
    assert _times(found, "1") == [ns for one in wanted for ns in one.warmup_ns]
    assert _times(found, "0") == [ns for one in wanted for ns in one.ns]
    assert isinstance(wanted[0], Samples)


def test_the_tables_of_the_paper(database: Path, tmp_path: Path) -> None:
    """Their counts are those of the verdicts, whatever their form."""
    verdicts = _rows(plumbline("db", "table", "verdicts", "--db", database).out)
    before = [row for row in verdicts if row["stage"] == "before"]
    violated = [row for row in before if row["verdict"] == "violated"]
    counts = _rows(plumbline("db", "table", "table2", CAMPAIGN, "--db", database).out)
    (pattern,) = [row for row in counts if (row["stage"], row["type"]) == ("before", "pattern")]
    patterns = {row["guideline"] for row in violated if row["kind"] == "pattern"}
    assert int(pattern["violated"]) == len(patterns) > 0
    by_library = _rows(plumbline("db", "table", "table3", CAMPAIGN, "--db", database).out)
    marked = {row["id"] for row in by_library if row[f"{CAMPAIGN} before"] == "•"}
    assert marked == patterns
    places = _rows(plumbline("db", "table", "table4", CAMPAIGN, "--db", database).out)
    bullets = [
        size for row in places if row["stage"] == "before" for size in row if row[size] == "•"
    ]
    assert sorted(bullets) == sorted({(row["bytes"], row["guideline"]): row["bytes"]
                                      for row in violated}.values())  # fmt: skip
    file = tmp_path / "table4.tex"
    plumbline("db", "table", "table4", "--output", file, "--db", database)
    assert r"\textbullet{}" in file.read_text() and "•" not in file.read_text()


def test_both_sides_of_a_guideline_are_a_picture(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "pair.svg"
    words = ("results", "--db", database, "--campaign", CAMPAIGN, "--guidelines")
    assert plumbline(*words, "GL12", "--picture", file).out == f"{file}\n"
    assert "Allreduce ⪯ Reduce+Bcast" in file.read_text()
    for more, said in (
        (("GL3", "--picture", file), "has not tested GL3; it has tested: GL12"),
        (("GL12",), "name its file with --picture"),
    ):
        refused = plumbline(*words, *more)
        assert refused.status == 2 and said in refused.err


def test_counters_are_columns(tmp_path: Path) -> None:
    """A machine with a PMU has them; what it cannot count is missing."""
    path = tmp_path / "counted.db"
    with Database.open(path, write=True) as db:
        build.started(db)
        launch = build.run()
        records = [
            msgspec.structs.replace(
                record,
                counts={
                    "involuntary_switches": [3] * len(record.blocks),
                    "PAPI_TOT_INS": [7000] * len(record.blocks),
                },
            )
            if isinstance(record, Samples)
            else record
            for record in build.records(launch, [build.Timed(), build.Timed(bytes=8)])
        ]
        runs.put(db, launch, records)
    taken = next(record for record in records if isinstance(record, Samples))
    calls = len(taken.warmup_ns) + len(taken.ns)
    rows = _rows(plumbline("db", "table", "counters", "--db", path).out)
    assert [row["bytes"] for row in rows] == [str(build.Timed().bytes), "8"]
    for row in rows:
        assert (row["calls"], row["is_result"]) == (str(calls), "1")
        blocks = len(taken.blocks)
        assert float(row["involuntary_switches"]) == pytest.approx(3 * blocks / calls)
        assert float(row["PAPI_TOT_INS"]) == pytest.approx(7000 * blocks / calls)
        assert row["migrations"] == row["PAPI_L3_TCM"] == ""


def _times(rows: list[dict[str, str]], is_warmup: str) -> list[int]:
    return [int(row["ns"]) for row in rows if row["is_warmup"] == is_warmup]


@pytest.mark.parametrize("what", ["samples", "medians", "counters", "verdicts", "winners"])
def test_tables_in_parquet_are_those_in_csv(database: Path, tmp_path: Path, what: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "table.parquet"
    said = plumbline("db", "table", what, "--output", file, "--json", "--db", database).json
    found = parquet.read_table(file).to_pylist()
    assert said == {"path": str(file), "rows": len(found)}
    rows = _rows(plumbline("db", "table", what, "--db", database).out)
    assert [list(row) for row in rows] == [list(row) for row in found]
    for row, one in zip(rows, found, strict=True):
        told = {
            name: int(value) if isinstance(value, bool) else value for name, value in one.items()
        }
        assert row == {name: "" if v is None else str(v) for name, v in told.items()}


def test_tables_that_cannot_be_written(database: Path, tmp_path: Path) -> None:
    for words, word in (
        (["--output", tmp_path / "x.txt"], "must end in one of .csv, .tex, .parquet"),
        (["nowhere"], "contains no run nowhere"),
        (["--output", tmp_path / "no" / "x.csv"], "no"),
    ):
        said = plumbline("db", "table", "samples", *words, "--db", database)
        assert said.status == 2 and word in said.err, words
    assert sorted(one.suffix for one in tmp_path.iterdir()) == [
        ".db",
        ".db-shm",
        ".db-wal",
        ".lock",
    ]


def test_samples_that_are_gone_are_said_to_be(database: Path) -> None:
    plumbline("db", "prune", "--keep", "0d", "--db", database)
    said = plumbline("db", "table", "samples", "--db", database)
    assert said.status == 1 and "were thrown away" in said.err
    assert len(_rows(plumbline("db", "table", "medians", "--db", database).out)) == 6


@pytest.mark.parametrize("what", ["samples", "medians", "verdicts", "winners"])
def test_tables_in_latex_have_what_csv_has(database: Path, tmp_path: Path, what: str) -> None:
    file = tmp_path / "table.tex"
    said = plumbline("db", "table", what, "--output", file, "--json", "--db", database).json
    rows = _rows(plumbline("db", "table", what, "--db", database).out)
    head, *lines = [line for line in file.read_text().splitlines() if line.endswith(r" \\")]
    assert said["rows"] == len(rows) == len(lines)
    assert head == " & ".join(quoting.latex(name) for name in rows[0]) + r" \\"
    for row, line in zip(rows, lines, strict=True):
        assert line == " & ".join(map(quoting.latex, row.values())) + r" \\"


def test_latex_reads_texts_as_they_are() -> None:
    assert quoting.latex("a_b&{c}$#%^~\\<") == (
        r"a\_b\&\{c\}\$\#\%\textasciicircum{}\textasciitilde{}\textbackslash{}\textless{}"
    )
    assert quoting.latex("a\nb") == r"a\textbackslash{}nb"
