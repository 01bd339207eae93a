"""plumbline compare: what it prints, as text, as JSON and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from plumbline_db import findings
from plumbline_db.connection import Database
from tests.db import build
from tests.db.build import Timed
from tests.tuner.cli.command import plumbline
from tests.tuner.results import test_compare as made

FIRST = build.CAMPAIGN.id


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Two libraries; the second is twice as fast at 1 KiB, and equal at 8 B."""
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        made.two_campaigns(db)
        for campaign, large in ((made.FIRST, 40_000), (made.SECOND, 20_000)):
            for sequence in range(10):
                cases = [Timed(bytes=8, median_ns=9_000), Timed(bytes=1024, median_ns=large)]
                crowded = campaign is made.FIRST
                made.put(db, "before", sequence, cases, campaign, oversubscribed=crowded)
            table = [build.verdict("before")]
            findings.put_verdicts(db, campaign.id, "before", table)
    return path


def test_the_table(database: Path) -> None:
    said = plumbline("compare", FIRST, "c-2", "--db", database)
    assert (said.status, said.err) == (0, "")
    lines = [line.rstrip() for line in said.out.splitlines()]
    assert lines[0].startswith(f"A  {FIRST}: Open MPI v4.1.4")
    assert "4 ranks (oversubscribed), 10 launches of before" in lines[0]
    assert lines[1].startswith("B  c-2: Open MPI v5.0.11 on node1, 4 ranks, 10 launches")
    assert "test: rank-sum, two-sided; A and B are different runs" in lines[2]
    assert "  oversubscribed: A yes; B no" in lines
    (small,) = [line for line in lines if line.startswith("MPI_Allreduce") and "  8 " in line]
    (large,) = [line for line in lines if line.startswith("MPI_Allreduce") and " 1024 " in line]
    assert small.endswith("not shown")
    assert large.endswith("differs (unpaired)") and "10, 10" in large
    assert "not paired: the sides were measured at different times" in lines[3]
    assert lines[4].startswith(
        "  A  2025-03-01T10:00:01+00:00 to 2025-03-01T10:00:01+00:00; its load"
    )
    assert lines[-1].startswith("of 2 cells 1 differ, unpaired; not shown in 1")
    assert "*" not in said.out and "faster" not in said.out


def test_json(database: Path) -> None:
    found = plumbline("compare", FIRST, "c-2", "--db", database, "--json").json
    assert found["summary"] == {
        "cells": 2,
        "a_faster": 0,
        "b_faster": 0,
        "differs": 1,
        "not_shown": 1,
        "not_compared": 0,
    }
    assert (found["test"], found["paired"]) == ("rank-sum", False)
    assert found["together"] is False
    assert (found["a"]["suites"], found["b"]["launches"]) == (["before"], 10)
    assert found["a"]["first"] == "2025-03-01T10:00:01+00:00"
    assert found["b"]["other_processors"] is None
    large = found["lines"][1]
    assert (large["function"], large["bytes"], large["verdict"]) == (
        "MPI_Allreduce",
        1024,
        "differs (unpaired)",
    )
    assert large["ratio_low"] < large["ratio"] < large["ratio_high"]
    assert large["p"] <= large["p_adjusted"] < 0.001 and large["stars"] == ""
    differ = {one["factor"]: (one["a"], one["b"]) for one in found["differences"]}
    assert differ["oversubscribed"] == ("yes", "no")


def test_the_picture(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "compared.svg"
    said = plumbline("compare", FIRST, "c-2", "--db", database, "--picture", target)
    assert said.status == 0 and said.out.rstrip().endswith(str(target))
    tree = ElementTree.fromstring(target.read_text())
    texts = [text for one in tree.iter() if one.text and (text := one.text.strip())]
    assert not any(text.strip("*") == "" for text in texts)
    assert any("no asterisks" in text for text in texts)
    for words in ("Allreduce", "8", "1024", "run time, µs"):
        assert words in texts
    assert any(text.startswith("B: c-2, Open MPI v5.0.11") for text in texts)
    assert not any("http" in text for text in texts)


@pytest.fixture
def in_turn(database: Path) -> Path:
    """More launches, of two suites in turn: the second is twice as fast."""
    with Database.open(database, write=True) as db:
        for sequence in range(10):
            for suite, median_ns in (("x", 40_000), ("y", 20_000)):
                made.put(db, suite, sequence, [Timed(bytes=1024, median_ns=median_ns)])
    return database


def test_sides_that_were_measured_in_turn(in_turn: Path, tmp_path: Path) -> None:
    words = ("compare", f"{FIRST}/x", f"{FIRST}/y", "--db", in_turn)
    target = tmp_path / "compared.svg"
    said = plumbline(*words, "--picture", target)
    assert "launches of A and B take turns" in said.out and "not paired" not in said.out
    assert "all recorded factors are equal\n" in said.out
    assert "** " in said.out and "B faster, 2.00 times" in said.out
    assert "of 1 cell A is faster in 0, B in 1; not shown in 0" in said.out
    assert ">**<" in target.read_text()
    said = plumbline(*words, "--set", "test=kolmogorov-smirnov")
    assert "faster" not in said.out and "of 1 cell 1 differ; not shown in 0" in said.out


def test_two_files(database: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy.db"
    assert plumbline("db", "backup", other, "--db", database).status == 0
    said = plumbline("compare", FIRST, f"{other}#{FIRST}", "--db", database)
    assert said.status == 0
    assert "all recorded factors are equal, but time and load" in said.out
    assert "not shown in 2" in said.out


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ((FIRST, "c-9"), 2, f"it contains: {FIRST}, c-2"),
        ((FIRST, f"{FIRST}:after"), 2, "no table after; it has: before"),
        ((FIRST, ":x"), 2, "[FILE#]RUN"),
        ((FIRST, FIRST), 2, "share launches"),
        ((FIRST, "c-2", "--set", "test=signed-rank"), 2, "take one of: rank-sum"),
        ((FIRST, "c-2", "--set", "test=guess"), 2, "unknown test guess"),
        ((FIRST, "nowhere.db#c-2"), 1, "there is no database at"),
    ],
)
def test_errors(database: Path, words: tuple[str, ...], status: int, text: str) -> None:
    said = plumbline("compare", *words, "--db", database)
    assert said.status == status and text in said.err, said.err
    assert said.out == "" and "Traceback" not in said.err
