"""The headline: what is violated in every way of use counts, the rest has a number of its own."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.pages import routes
from plumbline.results import report
from plumbline_db import findings
from plumbline_db.connection import Database
from plumbline_db.records import OtherUse, Verdict
from plumbline_exporters import web
from tests.db import build
from tests.tuner.cli.command import plumbline

V, H, U = "violated", "holds", "undecided"


def cell(size: int, own: str, **uses: str) -> Verdict:
    others = [OtherUse(use, word, 1.5, 1.4, 1.6) for use, word in uses.items()]  # type: ignore[arg-type]
    return build.verdict("before", bytes=size, verdict=own, uses=others)


BEFORE = [
    cell(8, V, loop=V, stream=V),
    cell(16, V, loop=V, stream=U),
    cell(32, V, loop=V, stream=H),
    cell(64, V, loop=H, stream=U),
    cell(128, H, loop=H),
]
AFTER = [
    cell(8, H),
    cell(16, V, loop=V, stream=V),
    cell(32, V, loop=H, stream=H),
    cell(64, V, loop=H, stream=H),
    cell(128, U),
]


def test_removed_new_and_remaining_violations_are_counted() -> None:
    """8 B is gone, 16 B stays; 32 B is new, as it was violated in some ways of use alone."""
    after = [*AFTER[:2], cell(32, V, loop=V), *AFTER[3:]]
    assert report.changed(BEFORE, after) == report.ViolationChange(
        before=2, removed=1, new=1, after=2
    )


def test_what_is_violated_in_some_ways_of_use_has_its_own_number() -> None:
    assert [one.bytes for one in report.everywhere(BEFORE)] == [8, 16]
    assert [one.bytes for one in report.somewhere(BEFORE)] == [32, 64]
    assert report.standing(BEFORE, "after_barrier") == (
        "2 violations; 2 more are violated only in some ways of use"
    )
    assert report.change(BEFORE, AFTER, "after_barrier") == (
        "violations: 1 removed of 2, 1 undecided; 2 more are violated only after a barrier"
    )


def test_a_cell_that_holds_in_the_table_and_not_in_a_loop_is_among_them() -> None:
    table = [cell(8, V, loop=V), cell(16, H, loop=V)]
    assert report.standing(table, "synchronised") == (
        "1 violation; 1 more is violated only in a loop of calls"
    )


def test_with_one_way_of_use_there_is_one_number() -> None:
    before, after = [cell(8, V), cell(16, V), cell(32, H)], [cell(8, H), cell(16, V), cell(32, V)]
    assert report.standing(before, "start by dissemination") == "2 violations"
    assert report.change(before, after, "start by dissemination") == (
        "violations: 1 removed of 2, 1 new"
    )


def test_nothing_violated() -> None:
    table = [cell(8, H), cell(16, U)]
    assert report.change(table, table, "after_barrier") == "no violations, 1 undecided"


def test_what_is_violated_in_one_way_only_is_not_removed() -> None:
    said = report.change([cell(8, V, loop=V)], [cell(8, V, loop=H)], "after_barrier")
    assert said == "violations: 0 removed of 1; 1 more is violated only after a barrier"
    said = report.change([cell(8, V, loop=V)], [cell(8, H, loop=V)], "after_barrier")
    assert said == "violations: 0 removed of 1; 1 more is violated only in a loop of calls"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        campaign = build.done(db)
        for stage, table in (("before", BEFORE), ("after", AFTER)):
            of_stage = [msgspec.structs.replace(one, stage=stage) for one in table]
            findings.put_verdicts(db, campaign.id, stage, of_stage)
    return path


SAID = "violations: 1 removed of 2, 1 undecided; 2 more are violated only after a barrier"


def test_it_is_the_same_wherever_a_campaign_is_shown(stored: Path) -> None:
    short = plumbline("results", "--db", stored).out
    assert SAID in " ".join(short.split())
    assert re.search(r"GL12 .*: 1 size, ", short)  # those that are violated everywhere
    assert SAID in " ".join(plumbline("results", "--all", "--db", stored).out.split())
    document = plumbline("results", "--json", "--db", stored).json
    assert document["headline"] == SAID
    counts = [
        (document[stage]["violated_everywhere"], document[stage]["violated_in_some_uses"])
        for stage in ("before", "after")
    ]
    assert counts == [(2, 2), (1, 2)]


def test_pages_and_metrics_count_alike(stored: Path) -> None:
    client = TestClient(web.app(stored, routes.all_pages(stored)))
    campaign = plumbline("results", "--json", "--db", stored).json["campaign"]
    assert SAID in client.get(f"/report/{campaign}").text
    overview = " ".join(client.get("/").text.split())
    assert "before → with winners; 1 undecided" in overview
    assert "1 violated</span> of 5 cells; 2 more are violated only after a barrier" in overview
    scraped = client.get("/metrics").text.splitlines()
    numbers = {
        (line.partition("{")[0], line.partition('stage="')[2].partition('"')[0]): line.split()[-1]
        for line in scraped
        if line.startswith(("plumbline_violations{", "plumbline_violations_in_some_uses{"))
    }
    assert numbers == {
        ("plumbline_violations", "before"): "2.0",
        ("plumbline_violations", "after"): "1.0",
        ("plumbline_violations_in_some_uses", "before"): "2.0",
        ("plumbline_violations_in_some_uses", "after"): "2.0",
    }
