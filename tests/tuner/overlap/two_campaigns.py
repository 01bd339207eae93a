"""A database with two overlap campaigns: messages of the second take half the time, and none of
them goes on beside work; those of the first all do."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.overlap.benches import OverlapSettings
from plumbline.overlap.suite import suite_of
from plumbline_db import campaigns, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import Overlap, OverlapLatency
from plumbline_db.records import Campaign
from tests.db import build
from tests.tuner.results import test_compare as libraries

SIZES = (16384, 1 << 20)
WORK = (50_000, 400_000)
FIRST, SECOND = "first", "second<script>"
LAUNCHES = 2


def settings(**changes: object) -> OverlapSettings:
    asked = OverlapSettings(2, ("sender", "receiver"), SIZES, WORK, launches=LAUNCHES)
    return msgspec.structs.replace(asked, **changes)


def store(path: Path) -> None:
    with Database.open(path, write=True) as db:
        libraries.two_campaigns(db)
        for name, like, share, overlaps in (
            (FIRST, libraries.FIRST, 1.0, True),
            (SECOND, libraries.SECOND, 0.5, False),
        ):
            asked = settings(kernel="registers" if overlaps else "memory")
            campaign = msgspec.structs.replace(
                like,
                id=name,
                key=name,
                settings=msgspec.json.encode(asked).decode(),
                state="finished",
                finished="2025-03-01T11:00:00Z",
            )
            campaigns.put(db, campaign)
            for bench in asked.benches:
                for sequence in range(LAUNCHES):
                    launch(db, campaign, bench, sequence, share=share, overlaps=overlaps)


def launch(
    db: Database, campaign: Campaign, bench: str, sequence: int, *, share: float, overlaps: bool
) -> None:
    """A message of a byte takes `share` of a nanosecond; times scatter by 0.4 %."""
    run = build.run(suite_of(bench).name, sequence, campaign=campaign)
    header, *_, footer = build.records(run, [])
    cells = [
        cell(number, bench, size, work, size * share, overlaps=overlaps)
        for number, (size, work) in enumerate((size, work) for size in SIZES for work in WORK)
    ]
    records = [header, OverlapLatency("start", [0] * 5), *cells, footer]
    runs.put(db, run, records, suite_of(bench))


def cell(
    number: int, bench: str, size: int, work: int, message: float, *, overlaps: bool
) -> Overlap:
    both = max(message, work) if overlaps else message + work
    scattered = [
        [round(middle * (1 + 0.001 * step)) for step in (-4, -2, 0, 2, 4)]
        for middle in (message, work, both)
    ]
    return Overlap(
        number, bench, size, size, "registers", work, 0, 1, 0, 1, 0, "", 1, 0, False, False, True,
        *scattered,
    )  # fmt: skip
