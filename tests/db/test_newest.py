"""The verdicts that speak for a place, and which curves a campaign has."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_db import campaigns, coverage, findings, points, runs
from plumbline_db.connection import Database
from tests.db import build


@pytest.mark.parametrize("stage", ["before", "after"])
def test_they_are_those_that_coverage_counts(tmp_path: Path, stage: str) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        build.done(db)
        later = build.later(db, "c-later", 2)
        small = [build.verdict("before", bytes=16384, verdict="holds", ratio=1.0)]
        findings.put_verdicts(db, later.id, "before", small)
        campaigns.put(db, later)
        (place,) = coverage.of_campaigns(db)
        found = findings.newest_of_place(db, place, stage)
        kept = place.stages[stage]
        assert len(found) == kept.cells
        words = [each.verdict.verdict for each in found]
        assert words.count("violated") == sum(c.violations for c in kept.guidelines.values())
        shares = {share.campaign: share.verdicts for share in kept.shares}
        speaking = [each.campaign for each in found]
        assert {name: speaking.count(name) for name in set(speaking)} == shares


def test_a_stage_without_tables_has_none(tmp_path: Path) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        campaign = build.started(db)
        findings.put_verdicts(db, campaign.id, "before", [build.verdict("before")])
        (place,) = coverage.of_campaigns(db)
        assert findings.newest_of_place(db, place, "after") == []


def test_sweeps_are_listed_by_suite(tmp_path: Path) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        campaign = build.started(db)
        for suite, cases in (
            ("before", [build.Timed(), build.Timed(bytes=8), build.Timed(variant="a_variant")]),
            ("search-1", [build.Timed(outcome="wrong")]),
        ):
            launch = build.run(suite)
            runs.put(db, launch, build.records(launch, cases))
        found = points.sweeps(db, campaign.id)
        named = [(each.suite, each.variant, each.sizes) for each in found]
        assert named == [("before", "default", 2), ("before", "a_variant", 1)]
        assert points.sweeps(db, campaign.id, ["search-1"]) == []
