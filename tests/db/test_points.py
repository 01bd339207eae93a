"""Why points of a suite were measured, and the times of single ranks: what is put comes back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db import flat_tables, points, runs, table_samples
from plumbline_db.connection import Database
from plumbline_db.points import SuitePoint
from plumbline_db.probe_records import CaseRecord, ProbeRecord, RankSamples, Samples
from plumbline_db.records import Suite
from tests.db import build
from tests.db.build import Timed
from tests.db.strategies import in_one_database, whole

CAMPAIGN = build.CAMPAIGN.id
listed = st.lists(
    whole(SuitePoint, suite=st.sampled_from(["suite-a", "suite-b"]), look=st.integers(1, 30)),
    max_size=5,
    unique_by=lambda point: (point.suite, point.axis, point.place),
)


@in_one_database
@given(those=listed)
def test_points_come_back(db: Database, those: list[SuitePoint]) -> None:
    build.started(db)
    with db.transaction():
        db.rows("DELETE FROM point")
    points.put(db, CAMPAIGN, those)
    assert points.get(db, CAMPAIGN) == sorted(those, key=lambda p: (p.suite, p.axis, p.place))


def test_a_place_keeps_its_first_reason(db: Database) -> None:
    build.started(db)
    points.put(db, CAMPAIGN, [SuitePoint("suite-a", "bytes", 64)])
    points.put(db, CAMPAIGN, [SuitePoint("suite-a", "bytes", 64, 2, "jump", "again")])
    assert points.get(db, CAMPAIGN) == [SuitePoint("suite-a", "bytes", 64)]
    with pytest.raises(ValueError, match="nothing"):
        points.put(db, "nothing", [])


def launch(sequence: int, suite: Suite, sizes: list[int]) -> tuple[object, list[ProbeRecord]]:
    """Of a suite that keeps the times of three ranks: rank r takes r microseconds."""
    run = build.run(suite.name, sequence)
    found: list[ProbeRecord] = []
    for record in build.records(run, [Timed(bytes=size) for size in sizes], blocks=2, reps=3):
        if isinstance(record, CaseRecord):
            record = msgspec.structs.replace(record, by_rank=1)
        found.append(record)
        if isinstance(record, Samples):
            for block in build.by_block([record]):
                ns = [[rank * 1000 + place for place in range(len(block.ns))] for rank in range(3)]
                found.append(RankSamples(block.case, block.block, ns))
    return run, found


def test_times_of_ranks_come_back_with_their_launch(db: Database) -> None:
    build.started(db)
    suite = Suite("suite", step="gather")
    for look, sizes in ((1, [64, 256]), (2, [128])):
        run, records = launch(0, suite.at(look), sizes)
        runs.put(db, run, records, suite.at(look))
    names = [suite.name, suite.at(2).name]
    medians = table_samples.rank_medians(db, CAMPAIGN, names)
    assert {found.bytes for found in medians} == {64, 128, 256}
    assert [found.seconds for found in medians[:3]] == [1e-9, 1.001e-6, 2.001e-6]
    assert {found.bytes for found in table_samples.rank_medians(db, CAMPAIGN, names[1:])} == {128}
    (table,) = flat_tables.of(db, "ranks")
    assert list(table) == list(flat_tables.COLUMNS["ranks"])
    assert table["rank"] == [0, 1, 2] * 3 and table["seconds"][:3] == [1e-9, 1.001e-6, 2.001e-6]


def test_looks_at_a_suite_are_one_suite(db: Database) -> None:
    build.started(db)
    assert points.described(db, CAMPAIGN) == []
    suite = Suite("suite", step="gather")
    points.put(db, CAMPAIGN, [SuitePoint(suite.name, "bytes", size) for size in (64, 128, 256)])
    for look, sizes in ((1, [64, 256]), (2, [128])):
        run, records = launch(0, suite.at(look), sizes)
        runs.put(db, run, records, suite.at(look))
    (found,) = points.described(db, CAMPAIGN)
    assert (found.name, found.axis, found.by_rank) == ("gather", "bytes", [64, 128, 256])
    assert [sweep.sizes for sweep in found.sweeps] == [3]
