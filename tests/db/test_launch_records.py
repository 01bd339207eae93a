"""Samples and what is kept of them in short, by the reader and by the views."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db import blobs, launch_records, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import RankSamples, Samples
from tests.db import build
from tests.db.build import Timed

CAMPAIGN = build.CAMPAIGN.id


@given(st.text(max_size=99))
def test_texts_come_back(text: str) -> None:
    stored = blobs.text_blob(text)
    assert blobs.text(stored) == text
    for other in (stored[:-1], stored + b"x", b""):
        with pytest.raises(ValueError, match="zlib"):
            blobs.text(other)


@pytest.fixture
def stored(db: Database) -> tuple[Database, list[Samples]]:
    """A launch with series of all kinds: blocks without warm-up, without samples, missing."""
    build.started(db)
    launch = build.run()
    records = build.records(launch, [Timed(), Timed(bytes=4, median_ns=90_000_000), Timed(bytes=8)])

    def mixed_with(block: build.Block) -> build.Block | None:
        if block.case != 2:
            return block
        return (
            block._replace(
                warmup_ns=[] if block.block == 2 else block.warmup_ns,
                ns=[] if block.block == 3 else [777] * 10,
                counts={"migrations": block.block, "PAPI_TOT_CYC": 2**45},
                settled=block.block > 2,
                late=7,
            )
            if block.block != 1
            else None
        )

    mixed = build.changed_blocks(records, mixed_with)
    runs.put(db, launch, mixed)
    return db, [record for record in mixed if isinstance(record, Samples)]


def test_medians_of_the_view(stored: tuple[Database, list[Samples]]) -> None:
    db, records = stored
    found = db.rows("SELECT bytes, n, median_ns, greatest_ns FROM launch_median ORDER BY bytes")
    times = {
        size: [ns for record in records if record.case == case for ns in record.ns]
        for case, size in ((1, 4), (2, 8), (0, 16384))
    }
    assert found == [(size, len(ns), statistics.median(ns), max(ns)) for size, ns in times.items()]


def test_blocks_of_samples(stored: tuple[Database, list[Samples]]) -> None:
    db, _ = stored
    (run,) = (one.id for one in runs.listing(db, CAMPAIGN))
    (found,) = runs.samples(db, run, 2)
    assert [len(block) for block in found.by_block()] == [10, 10, 0, 10]
    assert [len(found.from_block(number)) for number in (0, 1, 3, 4, 5)] == [30, 20, 10, 10, 0]


def test_some_cases_of_some_launches(stored: tuple[Database, list[Samples]]) -> None:
    db, records = stored
    by_case = {record.case: record for record in records}
    found = launch_records.samples(db, {1: [0, 2]})
    assert found == {(1, 0): by_case[0], (1, 2): by_case[2]}
    assert launch_records.samples(db, {}) == {}
    with pytest.raises(ValueError, match="no samples of a case"):
        launch_records.samples(db, {1: [7]})
    assert launch_records.of_kind(db, [1], RankSamples) == {1: []}


def test_alike_cases_share_a_row(db: Database) -> None:
    build.started(db)
    for sequence in range(4):
        launch = build.run(sequence=sequence)
        runs.put(db, launch, build.records(launch, [Timed(), Timed(bytes=4)]))
    assert db.row("SELECT count(*) FROM planned_case") == (2,)
    assert db.row("SELECT count(*) FROM cell_time") == (8,)


@given(st.lists(st.integers(0, 2**50), min_size=1, max_size=30))
def test_summaries_by_another_definition(times: list[int]) -> None:
    (found,) = launch_records.times_of_rows(np.array([times], dtype="<i8"))
    assert found["median_ns"] == statistics.median(times)
    for name, share in (
        ("quartile_1_ns", 0.25),
        ("quartile_3_ns", 0.75),
        ("percentile_95_ns", 0.95),
    ):
        assert found[name] == np.quantile(times, share, method="inverted_cdf")
    assert (found["least_ns"], found["greatest_ns"], found["n"]) == (
        min(times),
        max(times),
        len(times),
    )
