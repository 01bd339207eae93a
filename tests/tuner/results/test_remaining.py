"""Reasons why violations remain: each is about the guideline of its row, on the command line, in
JSON and on the page of the cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.core.cell import Target
from plumbline.results.remaining import Behind, Remaining, Searched
from plumbline.search.outcome import decided
from plumbline_db import findings
from plumbline_db.connection import Database
from plumbline_db.records import EVERY_FUNCTION, Event, Search, Trial, Verdict, Winner
from tests.db import build
from tests.tuner.cli.command import plumbline
from tests.tuner.pages import site

CELL = Target("MPI_Scan", 8192)
EXSCAN, SPLIT = "scan_as_exscan_plus_reduce_local", "scan_as_split"


def trial(variant: str, ratio: float | None, **more: Any) -> Trial:
    state = "measured" if ratio else "failed"
    plain = Trial(variant, {}, state, ratio, None, None, 6, "")
    return msgspec.structs.replace(plain, **more)


def winner(**more: Any) -> Winner:
    plain = {"function": CELL.function, "bytes_from": 4096, "bytes_to": 16384}
    plain |= {"variant": EXSCAN, "configuration": {}, "removes": ["GL16@8192"]}
    return build.winner(**plain | more)


def left(guideline: str, **more: Any) -> Verdict:
    plain: dict[str, Any] = {"guideline": guideline, "function": CELL.function, "bytes": CELL.bytes}
    plain |= {"rhs": EXSCAN, "other_bytes": CELL.bytes, "verdict": "violated"}
    plain |= {"ratio": 1.38, "ratio_low": 1.28, "ratio_high": 1.46}
    return build.verdict("after", **plain | more)


PATTERN = left("GL16", kind="pattern")
# The right side of a split is the call itself, several times.
SPLITTING = left("GL2", kind="split", rhs=CELL.function, other_bytes=4096, factor=2)
SPLITTING_AS_VARIANT = left("GL2", kind="split", rhs=SPLIT)


def search(trials: list[Trial], chosen: list[Winner], **more: Any) -> Search:
    """Return the search of the cell, held to the right side of GL16."""
    stopped = more.pop("stopped", "it is the bound GL16@8192 itself")
    search = Search(
        round=1,
        function=CELL.function,
        nprocs=4,
        ppn=4,
        bytes=CELL.bytes,
        opened_by=["GL16@8192", "GL2@8192"],
        outcome="nothing better",
        reason="",
        trials=list(trials),
        suites=["search-1-look-01"],
        bound="GL16@8192",
        bound_ratio=0.64,
    )
    return decided(msgspec.structs.replace(search, **more), chosen, stopped)


def remaining(
    verdict: Verdict, found: list[Search], chosen: list[Winner], *behind: Behind
) -> Remaining:
    (only,) = Searched(found, chosen, [], behind).remaining([verdict])
    return only


TRIALS = [trial(EXSCAN, 0.64, ratio_low=0.5, ratio_high=0.8), trial("scan_linear", 0.9)]


@pytest.mark.parametrize("verdict", [PATTERN, SPLITTING])
def test_no_reason_names_the_right_side_of_another_guideline(verdict: Verdict) -> None:
    """`GL2 … it is the bound GL16@8192 itself` was said of a violation of GL2."""
    found = remaining(verdict, [search(TRIALS, [winner()])], [winner()])
    assert found.reason == "the winner in force is not fast enough for this guideline"
    assert (found.configuration, found.trial, found.candidates) == (EXSCAN, TRIALS[0], 2)
    own = verdict.guideline == "GL16"
    assert found.of_right_side == (pytest.approx(1.0) if own else None)


def test_the_time_over_the_right_side_is_that_of_the_guideline() -> None:
    """A search knows its bound, and the right sides that raced as candidates."""
    with_split = [*TRIALS, trial(SPLIT, 0.5)]
    found = remaining(SPLITTING_AS_VARIANT, [search(with_split, [winner()])], [winner()])
    assert found.of_right_side == pytest.approx(0.64 / 0.5)
    unknown = remaining(SPLITTING_AS_VARIANT, [search(TRIALS, [winner()])], [winner()])
    assert unknown.of_right_side is None


def test_a_candidate_that_was_chosen_and_dropped_is_said_to_be() -> None:
    """Also where a later round has tried nothing better."""
    first, second = search(TRIALS, [winner()]), search([trial("scan_linear", 1.1)], [])
    second = msgspec.structs.replace(second, round=2)
    found = remaining(SPLITTING, [first, second], [])
    assert found.reason.startswith("the search chose a candidate, which was dropped later")
    assert (found.configuration, found.candidates) == (EXSCAN, 2)


@pytest.mark.parametrize(
    ("trials", "reason"),
    [
        ([trial(EXSCAN, 1.2)], "no candidate is clearly faster than the default"),
        ([], "no candidate was tried"),
        ([trial(EXSCAN, None)], "no candidate has a time: 1 ended launches"),
    ],
)
def test_what_was_searched_in_vain(trials: list[Trial], reason: str) -> None:
    found = remaining(SPLITTING, [search(trials, [], stopped="x")], [])
    assert found.reason == reason


def test_what_is_behind_has_the_same_reason_there() -> None:
    behind = Behind(CELL.function, CELL.bytes, "default", "x", 2.0, "all sizes have one option")
    found = remaining(SPLITTING, [search(TRIALS, [])], [], behind)
    assert found.reason == "all sizes have one option"


def test_a_setting_of_the_process_is_no_answer_to_the_search() -> None:
    of_process = winner(function=EVERY_FUNCTION, variant="default", configuration={"eager": "1"})
    found = remaining(SPLITTING, [search([trial(EXSCAN, 1.2)], [])], [of_process])
    assert found.reason.endswith("default; the setting of the process is in force")
    assert found.configuration == EXSCAN


def test_what_was_not_searched() -> None:
    assert "all rounds were used up" in remaining(SPLITTING, [], []).reason
    event = Event("2025-03-01T10:00:00Z", "budget used up", "2 cells not searched")
    (found,) = Searched([], [], [event], []).remaining([SPLITTING])
    assert "the budget was used up" in found.reason and found.configuration == ""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A campaign whose last table has both violations."""
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        campaign = build.done(db)
        findings.put_verdicts(db, campaign.id, "after", [PATTERN, SPLITTING])
        findings.put_winners(db, campaign.id, [winner()])
        findings.put_search(db, campaign.id, search(TRIALS, [winner()]))
    return path


def test_json_has_all_details(database: Path) -> None:
    rows = plumbline("results", "--json", "--db", database).json["remaining"]
    assert [row["guideline"] for row in rows] == ["GL16", "GL2"]
    for row in rows:
        assert (row["ratio_low"], row["ratio_high"]) == (1.28, 1.46)
        assert (row["configuration"], row["candidates"]) == (EXSCAN, 2)
        assert (row["of_default"], row["of_default_low"], row["of_default_high"]) == (
            0.64,
            0.5,
            0.8,
        )
    assert [row["of_right_side"] for row in rows] == [1.0, None]


def test_rows_with_the_same_reason_stand_together(database: Path) -> None:
    said = plumbline("results", "--all", "--db", database).out
    part = said.partition("Violations that remain\n")[2].partition("\n\n")[0]
    assert part.count("the winner in force is not fast enough for this guideline") == 1
    assert part.count("1.38 [1.28, 1.46]") == 2
    assert "GL2" in part and "GL16" in part and "GL16@" not in part


def test_the_page_of_the_cell_says_the_same(database: Path) -> None:
    with Database.open(database) as db:
        campaign = build.CAMPAIGN.id
        assert len(findings.get_verdicts(db, campaign, "after")) == 2
    with site.client(database) as client:
        text = client.get(f"/cell/{CELL.function}/{CELL.bytes}/{campaign}").text
    part = text.partition("Why it is still violated")[2].partition("</ul>")[0]
    assert part.count("the winner in force is not fast enough for this guideline") == 2
    assert part.count(EXSCAN) == 2 and part.count("of this guideline's right side") == 1
