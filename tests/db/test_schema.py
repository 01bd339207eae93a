"""The schema explains itself, and docs/database.md says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plumbline_db import runs, schema
from plumbline_db.connection import Database
from plumbline_db.records import Suite
from tests.db import build

SQL = schema.text()
PAGE = (Path(__file__).parents[2] / "docs" / "database.md").read_text()
TABLE = re.compile(r"^-- (.*)\nCREATE TABLE (\w+) \(\n((?:    .*\n)*)\)", re.MULTILINE)


def test_every_table_and_column_says_what_it_holds() -> None:
    found = TABLE.findall(SQL)
    assert len(found) == SQL.count("CREATE TABLE")
    for _, table, body in found:
        columns = [line for line in body.splitlines() if not re.match("    (PRIMARY|UNIQUE)", line)]
        for line in columns:
            assert re.search(r"  -- \S", line), (table, line)


def test_the_page_has_the_tables_of_the_schema() -> None:
    rows = [f"| `{table}` | {comment} |" for comment, table, _ in TABLE.findall(SQL)]
    there = PAGE.split("## What it promises")[0]
    assert re.findall(r"^\| `\w+` \| .* \|$", there, re.MULTILINE) == rows


def test_queries_of_the_page(db: Database) -> None:
    build.finished(db)
    for suite in (Suite("confirm", 1), Suite("confirm", 1).beside(), Suite("confirm", 2)):
        with db.transaction():
            runs.suite_number(db, build.CAMPAIGN.id, suite)
    winners, pairs, _ = (
        db.rows(query) for query in re.findall(r'plumbline\.db "(SELECT [^"]*)"', PAGE)
    )
    assert len(winners) == 2
    assert pairs == [("confirm-1", "confirm-1-default")]


def test_suites_come_back_by_their_names(db: Database) -> None:
    build.started(db)
    first = Suite("confirm", 1)
    again = first.part("again").at(2)
    every = [Suite("before"), first, again, again.beside(), again.of("cold-03").of("blame")]
    with db.transaction():
        for suite in every:
            assert runs.suite_number(db, build.CAMPAIGN.id, suite) == runs.suite_number(
                db, build.CAMPAIGN.id, suite
            )
    assert runs.suites(db, build.CAMPAIGN.id) == {one.name: one for one in every}
    assert [one.name for one in every] == [
        "before",
        "confirm-1",
        "confirm-1-again-look-02",
        "confirm-1-again-look-02-default",
        "confirm-1-again-look-02-cold-03-blame",
    ]
    assert runs.in_turn(db, build.CAMPAIGN.id, "confirm-1") == [
        ("confirm-1-again-look-02", "confirm-1-again-look-02-default")
    ]


def test_two_suites_have_no_name_in_common(db: Database) -> None:
    build.started(db)
    with db.transaction():
        runs.suite_number(db, build.CAMPAIGN.id, Suite("confirm", 1))
        with pytest.raises(ValueError, match="is another one"):
            runs.suite_number(db, build.CAMPAIGN.id, Suite("confirm-1"))
