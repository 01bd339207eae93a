"""What is kept of a place is what all verdicts of its campaigns say."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from plumbline_db import campaigns, cost, coverage, findings, runs
from plumbline_db.connection import Database
from plumbline_db.coverage import Count, Coverage
from plumbline_db.layout import verifies_only
from plumbline_db.records import Campaign, Suite, Verdict
from tests.db import build

SIZES = range(1, 6)
VERIFY = '{"launches":12,"rounds":0}'


def table(chance: random.Random, stage: str) -> list[Verdict]:
    """Some of ten cells."""
    return [
        build.verdict(
            stage,
            guideline=guideline,
            bytes=size,
            verdict=chance.choice(["holds", "violated", "undecided"]),
            ratio=chance.choice([None, chance.uniform(0.5, 2)]),
        )
        for guideline in ("GL12", "GL8")
        for size in SIZES
        if chance.random() < 0.8
    ]


def campaign(db: Database, chance: random.Random, number: int) -> None:
    settings = chance.choice([build.CAMPAIGN.settings, VERIFY])
    one = build.later(
        db, f"c-{number}", number + 1, settings=settings, state="running", finished=""
    )
    for stage in ("before", "after", "round-1"):
        if chance.random() < 0.8:
            findings.put_verdicts(db, one.id, stage, table(chance, stage))
    if chance.random() < 0.5:
        findings.put_winners(db, one.id, [build.winner()])
    if chance.random() < 0.8:
        ended = f"2025-03-{number + 2:02}T10:00:00Z"
        campaigns.put(db, msgspec.structs.replace(one, state="finished", finished=ended))
        if chance.random() < 0.2:
            campaigns.reopen(db, one.id)


def heard(db: Database, stage: str) -> list[Campaign]:
    """Campaigns in the order in which they are heard, the last one last."""
    every = campaigns.all_campaigns(db)
    if stage == "before":
        return every
    won = {one.id for one in every if findings.get_winners(db, one.id)}
    some = [one for one in every if one.id in won or not verifies_only(one.settings)]
    return sorted(some, key=lambda one: (one.state == "finished", one.id in won, one.finished))


def counted(db: Database, stage: str) -> dict[str, Count]:
    """By hand: the newest verdict of each cell."""
    newest: dict[tuple[str, int], Verdict] = {}
    tables = {one.id: findings.get_verdicts(db, one.id, stage) for one in heard(db, stage)}
    for one in tables.values():
        newest |= {(verdict.guideline, verdict.bytes): verdict for verdict in one}
    found = {}
    then = compared(db, stage, len(newest))
    for guideline in sorted({name for name, _ in newest}):
        cells = {cell: v for cell, v in newest.items() if cell[0] == guideline}
        changes = [(then.get(cell), v.verdict) for cell, v in cells.items()] if then else []
        found[guideline] = Count(
            sum(v.violated_everywhere for v in cells.values()),
            sum(v.depends for v in cells.values()),
            sum(v.verdict == "undecided" for v in cells.values()),
            max((v.ratio for v in cells.values() if v.ratio is not None), default=None),
            changes.count(("holds", "violated")) if then else None,
            changes.count(("violated", "holds")) if then else None,
        )
    return found


def compared(db: Database, stage: str, cells: int) -> dict[tuple[str, int], str]:
    """The full table before the newest one; empty: there is none."""
    found = [(one, findings.get_verdicts(db, one.id, stage)) for one in heard(db, stage)]
    with_rows = [(one, rows) for one, rows in found if rows]
    full = [
        rows for one, rows in with_rows[:-1] if one.state == "finished" and len(rows) >= 0.9 * cells
    ]
    return {(v.guideline, v.bytes): v.verdict for v in full[-1]} if full else {}


def only(db: Database) -> Coverage | None:
    found = coverage.of_campaigns(db)
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("seed", range(12))
def test_it_is_what_the_verdicts_say(db: Database, seed: int) -> None:
    """After each change, whatever came before."""
    chance = random.Random(seed)
    for number in range(7):
        campaign(db, chance, number)
        found = only(db)
        for stage in ("before", "after"):
            expected = counted(db, stage)
            told = found.stages.get(stage) if found else None
            assert (told.guidelines if told else {}) == expected, (number, stage)
            if told:
                assert told.cells == sum(share.verdicts for share in told.shares)


def test_readers_in_the_same_process_see_it_at_once(path: Path) -> None:
    """It is written in the same transaction."""
    with Database.open(path, write=True) as db:
        one = build.done(db)
        with pytest.raises(KeyboardInterrupt), db.transaction():
            db.rows("DELETE FROM verdict")
            raise KeyboardInterrupt
    with Database.open(path) as db:
        (found,) = coverage.of_campaigns(db)
        assert found.in_force == one.id and found.stages["before"].cells == 3


def test_costs_are_those_of_the_launches(db: Database) -> None:
    started = build.finished(db)
    bad = msgspec.structs.replace(build.run("trial", 0), failure=build.EXIT)
    runs.put(db, bad, [])
    wrong = build.run("trial", 1)
    own, ours = build.Timed(outcome="wrong"), build.Timed(variant="x", outcome="wrong")
    runs.put(db, wrong, build.records(wrong, [own, ours]))
    for stage in ("explain", "canary"):
        later = build.run(stage)
        runs.put(db, later, build.records(later, [build.Timed(bytes=7)]), Suite(stage))
    assert cost.problems(db, started.id) == []
    found = {one.failure: one for one in cost.spent_on(db, started.id)}
    assert (found[""].launches, found["ended"].launches) == (4, 1)
    assert found[""].wrong == 1  # of the library itself
    assert cost.cost(db, started.id).cells == 1


@pytest.mark.parametrize(
    "damage",
    ["UPDATE cost SET launches = launches + 1", "DELETE FROM cost", "DELETE FROM timed_cell"],
)
def test_sums_that_are_none_are_found(db: Database, damage: str) -> None:
    started = build.finished(db)
    db.rows(damage)
    assert len(cost.problems(db, started.id)) == 1
