"""Messages alone that drift, and other load: each said once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.measure.launches import LaunchStore
from plumbline.overlap import suite
from plumbline.overlap.benches import OverlapSettings
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap
from tests.db import build
from tests.tuner.overlap.pretended import quiet_library
from tests.tuner.overlap.test_metric import CELL


def cell(size: int, work: int, ns: int, **more: int) -> Overlap:
    return msgspec.structs.replace(CELL, bytes=size, work_ns=work, communication_ns=[ns], **more)


def test_a_message_that_takes_longer_at_some_work_is_counted_once() -> None:
    launch = [cell(64, work, 100) for work in range(8)]
    launch += [cell(64, 8, 121), cell(64, 9, 119), cell(64, 10, 79), cell(128, 8, 500)]
    (found,) = suite.drift([launch, [cell(64, 0, 400), cell(64, 1, 400)]])
    assert found.name == "drift" and found.text.startswith("in 2 of 14 cells of launches")


def test_launches_and_ranks_may_differ() -> None:
    by_rank = [cell(64, work, 100 + 100 * rank, rank=rank) for work in range(3) for rank in (0, 1)]
    assert suite.drift([by_rank, [cell(64, work, 700) for work in range(3)], []]) == []


def test_of_what_is_stored(tmp_path: Path) -> None:
    settings = OverlapSettings(2, ("sender",), (64, 128), (2000, 4000), triples=5, launches=2)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        build.started(db)
        suite.run(LaunchStore(db, build.CAMPAIGN.id, quiet_library()), build.CAMPAIGN, settings)
        names = [one.name for one in suite.conditions_of(db, build.CAMPAIGN)]
    assert "oversubscribed" in names and "drift" not in names
