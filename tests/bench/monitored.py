"""A database as years of campaigns leave it: what a scrape of `plumbline serve` reads."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from unittest import mock

import msgspec

from plumbline_db import campaigns, coverage, findings, machines, runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Verdict
from tests.db import build

CAMPAIGNS = 500
VERDICTS = 100_000
PLACES = 10
GUIDELINES = 20
_BEGIN = datetime.datetime(2025, 3, 1, 10, tzinfo=datetime.UTC)


def fill(path: Path, seed: int = 1) -> None:
    """CAMPAIGNS finished campaigns with a table before and one after each, VERDICTS rows in all, at
    PLACES numbers of ranks."""
    chance = random.Random(seed)
    with Database.open(path, write=True) as db:
        machines.put_machine(db, build.MACHINE)
        machines.put_library(db, build.LIBRARY)
        with mock.patch.object(coverage, "renew"):  # once at the end, not 2000 times
            for number in range(CAMPAIGNS):
                _campaign(db, number, chance)
        with db.transaction():
            for number in range(CAMPAIGNS - PLACES, CAMPAIGNS):
                coverage.renew(db, f"c-{number}")


def _campaign(db: Database, number: int, chance: random.Random) -> None:
    started = _BEGIN + datetime.timedelta(hours=12 * number)
    nprocs = 4 * (1 + number % PLACES)
    campaign = msgspec.structs.replace(
        build.CAMPAIGN,
        id=f"c-{number}",
        key=f"k-{number}",
        nprocs=nprocs,
        started=started.isoformat(),
        settings=msgspec.json.encode({"launches": 12, "sizes": list(range(300))}).decode(),
    )
    campaigns.put(db, campaign)
    launch = build.run(campaign=campaign)
    runs.put(db, launch, build.records(launch, [build.Timed()]))
    size = VERDICTS // CAMPAIGNS // 2
    for stage, violated in (("before", 0.2), ("after", 0.02)):
        findings.put_verdicts(
            db, campaign.id, stage, _table(campaign, stage, size, violated, chance)
        )
    findings.put_winners(db, campaign.id, [build.winner(function=f"MPI_F{n}") for n in range(8)])
    ended = (started + datetime.timedelta(hours=3)).isoformat()
    campaigns.put(db, msgspec.structs.replace(campaign, state="finished", finished=ended))


def _table(
    campaign: Campaign, stage: str, size: int, violated: float, chance: random.Random
) -> list[Verdict]:
    return [
        build.verdict(
            stage,
            nprocs=campaign.nprocs,
            guideline=f"GL{n % GUIDELINES + 1}",
            bytes=2 ** (n // GUIDELINES),
            verdict="violated" if chance.random() < violated else "holds",
            ratio=chance.uniform(0.8, 2),
        )
        for n in range(size)
    ]
