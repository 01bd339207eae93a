"""plumbline compare: what it prints, as text, as JSON and as a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from plumbline_db import verdicts
from plumbline_db.connection import Database
from tests.db import build
from tests.db.build import Timed
from tests.tuner import test_compare as made
from tests.tuner.cli.command import plumbline

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
            verdicts.put(db, campaign.id, "before", table)
    return path


def test_the_table(database: Path) -> None:
    said = plumbline("compare", FIRST, "c-2", "--db", database)
    assert (said.status, said.err) == (0, "")
    lines = [line.rstrip() for line in said.out.splitlines()]
    assert lines[0].startswith(f"A  {FIRST}: Open MPI v4.1.4")
    assert "4 ranks (oversubscribed), 10 launches of before" in lines[0]
    assert lines[1].startswith("B  c-2: Open MPI v5.0.11 on node1, 4 ranks, 10 launches")
    assert "test: rank-sum, two-sided; A and B are different campaigns" in lines[2]
    assert "  oversubscribed: A yes; B no" in lines
    (small,) = [line for line in lines if line.startswith("MPI_Allreduce") and "  8 " in line]
    (large,) = [line for line in lines if line.startswith("MPI_Allreduce") and " 1024 " in line]
    assert small.endswith("not shown")
    assert "***" in large and "B, 1.99 times" in large and "10, 10" in large
    assert lines[-1].startswith("of 2 cells A is faster in 0, B in 1; not shown in 1")


def test_json(database: Path) -> None:
    found = plumbline("compare", FIRST, "c-2", "--db", database, "--json").json
    assert found["summary"] == {
        "cells": 2,
        "a_faster": 0,
        "b_faster": 1,
        "not_shown": 1,
        "not_compared": 0,
    }
    assert (found["test"], found["paired"]) == ("rank-sum", False)
    assert (found["a"]["suites"], found["b"]["launches"]) == (["before"], 10)
    large = found["lines"][1]
    assert (large["function"], large["bytes"], large["faster"]) == ("MPI_Allreduce", 1024, "B")
    assert large["ratio_low"] < large["ratio"] < large["ratio_high"]
    assert large["p"] <= large["p_adjusted"] < 0.001 and large["stars"] == "***"
    differ = {one["factor"]: (one["a"], one["b"]) for one in found["differences"]}
    assert differ["oversubscribed"] == ("yes", "no")


def test_the_picture(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "compared.svg"
    said = plumbline("compare", FIRST, "c-2", "--db", database, "--svg", target)
    assert said.status == 0 and said.out.rstrip().endswith(str(target))
    tree = ElementTree.fromstring(target.read_text())
    texts = [text for one in tree.iter() if one.text and (text := one.text.strip())]
    assert texts.count("***") == 1
    for words in ("Allreduce", "8", "1024", "run time, µs"):
        assert words in texts
    assert any(text.startswith("B: c-2, Open MPI v5.0.11") for text in texts)
    assert not any("http" in text for text in texts)


def test_two_files(database: Path, tmp_path: Path) -> None:
    other = tmp_path / "copy.db"
    assert plumbline("db", "backup", other, "--db", database).status == 0
    said = plumbline("compare", FIRST, f"{other}#{FIRST}", "--db", database)
    assert said.status == 0
    assert "all recorded factors are equal" in said.out
    assert "not shown in 2" in said.out


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ((FIRST, "c-9"), 2, f"it holds: {FIRST}, c-2"),
        ((FIRST, f"{FIRST}:after"), 2, "no table after; it has: before"),
        ((FIRST, ":x"), 2, "[FILE#]CAMPAIGN"),
        ((FIRST, FIRST), 2, "share launches"),
        ((FIRST, "c-2", "--test", "signed-rank"), 2, "take one of: rank-sum"),
        ((FIRST, "c-2", "--test", "guess"), 2, "no test guess"),
        ((FIRST, "nowhere.db#c-2"), 1, "there is no database at"),
    ],
)
def test_errors(database: Path, words: tuple[str, ...], status: int, text: str) -> None:
    said = plumbline("compare", *words, "--db", database)
    assert said.status == status and text in said.err, said.err
    assert said.out == "" and "Traceback" not in said.err
