"""Suites of a file as sides of a comparison: all looks, all operations, over ranks; by the command
and by its page."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlencode

import msgspec
import pytest
from starlette.testclient import TestClient

from plumbline.foreign import storing
from plumbline.results import compare, comparison_files, sides
from plumbline.results.compare import How, SideComparison
from plumbline.system import chart
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from tests.tuner.cli.command import plumbline
from tests.tuner.pages.site import SUITES

BY_HAND = "gather_naive_irecv"


def compared(path: Path, a: str, b: str) -> SideComparison:
    with Database.open(path) as db:
        return compare.compare(
            sides.read(db, sides.parse(a)), sides.read(db, sides.parse(b)), How()
        )


def test_operations_of_a_suite_are_compared_in_its_launches(stored: Path) -> None:
    """At all places, those of later looks too."""
    side = f"{SUITES}/gather"
    found = compared(stored, f"{side}@default", f"{side}@{BY_HAND}")
    assert found.together and found.why == "both sides were measured in the same launches"
    assert [line.cell.bytes for line in found.lines] == [256, 4096, 8192, 16384]
    assert all(line.ratio is not None and line.ratio < 1 for line in found.lines[1:])
    modes = f"{SUITES}/modes"
    (small, _) = compared(stored, f"{modes}@send_recv", f"{modes}@ssend_recv").lines
    assert (small.cell.function, small.cell.ranks, round(small.ratio or 0, 1)) == (
        *("point_to_point", 2, 1.0),
    )


def test_a_suite_has_the_name_that_pages_and_tables_give_it(stored: Path) -> None:
    with Database.open(stored) as db:
        by_step, by_name = (
            sides.read(db, sides.parse(f"{SUITES}/{name}")) for name in ("gather", "suite-gather")
        )
        assert by_step.suites == by_name.suites == ["suite-gather", "suite-gather-look-02"]
        assert by_step.name == by_name.name and by_name.name.text == f"{SUITES}/gather"
        assert by_name.suites_named == ["gather"]
        every = sides.read(db, sides.parse(SUITES))
        assert {suite.partition("-look")[0] for suite in every.suites} == {
            *("suite-gather", "suite-ranks", "suite-modes")
        }
        for name, words in (
            (f"{SUITES}/none", "has no suite none; it has: gather, ranks, modes"),
            (f"{SUITES}:after", f"no tables; it has: {SUITES}/gather"),
        ):
            with pytest.raises(UsageError, match=words):
                sides.read(db, sides.parse(name))


def test_curves_over_ranks_are_compared_by_ranks(stored: Path) -> None:
    side = f"{SUITES}/ranks"
    found = compared(stored, f"{side}@default", f"{side}@{BY_HAND}")
    assert sorted(line.cell.ranks for line in found.lines) == [0, 2, 3]
    drawn = comparison_files.chart_specification(found, "a", "b")
    assert {row["place"] for row in drawn["data"]["values"]} == {2, 3, 4}
    x = drawn["spec"]["layer"][0]["encoding"]["x"]
    assert x["title"] == "ranks"
    names = (f"{side}@default", f"{side}@{BY_HAND}")
    said = plumbline("compare", *names, "--db", stored)
    (head,) = [line for line in said.out.splitlines() if line.startswith("function")]
    assert head.split()[:3] == ["function", "ranks", "bytes"]
    assert plumbline("compare", *names, "--json", "--db", stored).json["a"]["run"] == SUITES


def test_each_panel_has_its_places_below_it_and_sides_apart(stored: Path) -> None:
    """A single axis below all panels was a page away from the first of them."""
    side = f"{SUITES}/gather"
    found = compared(stored, f"{side}@default", f"{side}@{BY_HAND}")
    lines = [
        msgspec.structs.replace(line, cell=msgspec.structs.replace(line.cell, function=name))
        for name in ("MPI_Gather", "MPI_Scatter", "MPI_Bcast", "MPI_Reduce", "MPI_Scan")
        for line in found.lines
    ]
    five = msgspec.structs.replace(found, lines=lines)
    drawn = chart.render(comparison_files.chart_specification(five, "a", "b"))
    assert drawn.count(">16384<") == 5
    places: dict[str, set[str]] = {"A": set(), "B": set()}
    for point in re.findall(r"<path [^>]*bytes: 16384[^>]*>", drawn):
        if 'roledescription="point"' in point:
            at = re.search(r"translate\(([\d.]+),", point)
            side_of = re.search(r"side: ([AB])", point)
            assert at is not None and side_of is not None
            places[side_of[1]].add(at[1])
    assert all(places.values()) and places["A"].isdisjoint(places["B"]), places


def test_the_page_offers_suites_and_compares_them(client: TestClient) -> None:
    assert f'<option value="{SUITES}/gather">' in client.get("/compare").text
    side = f"{SUITES}/gather"
    query = urlencode({"a": f"{side}@default", "b": f"{side}@{BY_HAND}"})
    answer = client.get(f"/compare?{query}")
    assert answer.status_code == 200 and "paired by launch" in answer.text
    assert answer.text.index("<figure") < answer.text.index('aria-label="Cells that differ"')
    assert client.get(f"/compare.svg?{query}").status_code == 200


def test_what_others_have_printed_is_not_tested(tmp_path: Path) -> None:
    text = tmp_path / "osu.txt"
    text.write_text(
        "# OSU MPI Broadcast Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
        "# Size       Avg Latency(us)\n1                       0.50\n"
    )
    path = tmp_path / "plumbline.db"
    run = storing.take(path, text, [4]).run
    with Database.open(path) as db, pytest.raises(UsageError, match="another program's output"):
        sides.read(db, sides.parse(run))
