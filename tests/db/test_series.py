"""Samples are packed and come back as they were, by the reader and by the views."""

from __future__ import annotations

import sqlite3
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db import blobs, runs, series, shapes, summaries
from plumbline_db.connection import Database
from plumbline_db.probe_records import Samples
from tests.db import build
from tests.db.build import Timed

CAMPAIGN = build.CAMPAIGN.id
signed = st.integers(-(2**63), 2**63 - 1)
# Of all widths: of so many bits.
lists = st.lists(st.integers(0, 63).flatmap(lambda bits: st.integers(0, 2**bits - 1)), max_size=9)


@given(st.lists(signed, max_size=9) | lists)
def test_lists_come_back(values: list[int]) -> None:
    assert blobs.times(blobs.blob(values)) == values
    least, body = blobs.packed(values)
    assert blobs.unpacked(least, body, len(values)).tolist() == values
    assert least == min(values, default=0)


@pytest.mark.parametrize(
    ("values", "size"),
    [([], 0), ([5000], 0), ([7] * 9, 0), ([70, 200, 325], 3), ([0, 256], 4), ([1, 2**40], 10)],
)
def test_bytes_that_a_list_takes(values: list[int], size: int) -> None:
    assert len(blobs.packed(values)[1]) == size


@pytest.mark.parametrize(
    "stored", [b"\x02", bytes(9), b"\x02" + bytes(9), b"\x09" + bytes(17), b"\x01" + bytes(8)]
)
def test_what_is_no_list(stored: bytes) -> None:
    with pytest.raises(ValueError, match="bytes are no list"):
        blobs.array(stored)


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


def test_other_programs_read_single_times(
    stored: tuple[Database, list[Samples]], path: Path
) -> None:
    """By any SQLite, also an old one."""
    _, records = stored
    other = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = other.execute(
        """SELECT bytes, is_warmup, block, ns FROM sample JOIN measured_case USING (measurement)
           WHERE is_result ORDER BY bytes, is_warmup, block, place"""
    ).fetchall()
    sizes = {0: 16384, 1: 4, 2: 8}
    wanted = [
        (sizes[record.case], is_warmup, record.block, ns)
        for record in build.by_block(records)
        for is_warmup, times in ((1, record.warmup_ns), (0, record.ns))
        for ns in times
    ]
    assert sorted(found) == sorted(wanted)
    single = "SELECT ns FROM sample WHERE measurement = 1 AND NOT is_warmup ORDER BY block, place"
    in_order = [ns for record in records if record.case == 0 for ns in record.ns]
    assert [ns for (ns,) in other.execute(single)] == in_order
    other.close()


def test_medians_of_the_view(stored: tuple[Database, list[Samples]]) -> None:
    db, records = stored
    found = db.rows("SELECT bytes, n, median_ns, greatest_ns FROM launch_median ORDER BY bytes")
    times = {
        size: [ns for record in records if record.case == case for ns in record.ns]
        for case, size in ((1, 4), (2, 8), (0, 16384))
    }
    assert found == [(size, len(ns), statistics.median(ns), max(ns)) for size, ns in times.items()]


def test_a_block_of_a_series(stored: tuple[Database, list[Samples]]) -> None:
    db, _ = stored
    found = series.of(db, [3])[3]
    assert [len(block) for block in found.by_block()] == [10, 10, 10]
    assert [len(found.from_block(number)) for number in (0, 1, 3, 4, 5)] == [30, 20, 10, 10, 0]
    assert series.of(db, []) == {} and series.of(db, [99]) == {}


def test_alike_series_share_a_shape_and_alike_cases_a_row(db: Database) -> None:
    build.started(db)
    for sequence in range(4):
        launch = build.run(sequence=sequence)
        runs.put(db, launch, build.records(launch, [Timed(), Timed(bytes=4)]))
    assert db.row("SELECT count(*) FROM shape") == (1,)
    assert db.row("SELECT count(*) FROM planned_case") == (2,)
    assert db.row("SELECT count(*) FROM measurement") == (8,)


def test_shapes_that_do_not_fit_together_are_refused() -> None:
    of_two = Samples(0, [0, 1], [2, 2], [1, 1], [1, 2, 1, 2], [3, 3], counts={"x": [5, 5]})
    layout, notes = shapes.laid_out(of_two)
    assert shapes.read(layout, notes).counts == {"x": [5, 5]}
    for wrong in (notes[:-1], notes + b"\x00"):
        with pytest.raises(ValueError, match="notes"):
            shapes.read(layout, wrong)
    text = shapes.text_of(layout)
    assert shapes.of_text(text) == layout
    for other in (text.replace("[1,2,", "[1,3,"), text.replace("[0,0,", "[0,1,"), "[]"):
        with pytest.raises(ValueError, match=r"block|Expected"):
            shapes.of_text(other)


@given(st.lists(st.integers(0, 2**50), min_size=1, max_size=30))
def test_summaries_by_another_definition(times: list[int]) -> None:
    (found,) = summaries.of(np.array([times], dtype="<i8"))
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
