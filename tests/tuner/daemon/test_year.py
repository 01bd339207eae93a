"""A year of watching, by an injected clock: rows stay bounded, and what goes is said."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from plumbline.daemon.configuration import CanaryTable, MeasuringHours, Retention
from plumbline.daemon.step import DaemonStep
from plumbline_db import campaigns, integrity, runs, watching
from plumbline_db.connection import Database
from tests.tuner import planted
from tests.tuner.daemon.watching import Clock, Site, configuration
from tests.tuner.simulated import SimulatedStarter

DAYS = 365


@pytest.mark.alone  # 365 canaries
@pytest.mark.slow
def test_a_year(finished: Path, tmp_path: Path) -> None:
    """A canary in each night of a zone with summer time; the daemon starts anew each month."""
    shutil.copy(finished / "plumbline.db", tmp_path / "plumbline.db")
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        starter = SimulatedStarter(planted.costs(), case_noise=0.01)
        campaign = campaigns.get(db, None)
        table = CanaryTable(every="6h", launches=1, samples=1, learning=20, cells=8, references=12)
        found = configuration(
            tmp_path,
            canary=table,
            schedule=MeasuringHours(
                time_zone="Europe/Vienna",
                windows=("22:00-04:00",),
                blackouts=("2026-12-24..2026-12-27",),
            ),
            keep=Retention(launches="30d", rows="90d"),
        )
        site = Site(db, campaign, tmp_path, starter, found, Clock())
        start, own = site.clock.now, len(runs.listing(db, campaign.id))
        watcher, said, taken, most = site.watcher(), [], 0, 0
        while site.clock.now < start + timedelta(days=DAYS):
            done = watcher.advance(db)
            said += done.said
            assert not done.error
            if done.step is DaemonStep.WAIT and not done.told:
                assert done.due is not None
                site.clock.now = max(done.due, site.clock.now + timedelta(minutes=1))
                continue
            if done.step is DaemonStep.CANARY:
                taken += 1
                local = site.clock.now.astimezone(found.schedule.times.zone)
                assert local.hour >= 22 or local.hour < 4
                assert not (local.year == 2026 and local.month == 12 and 24 <= local.day <= 27)
                if taken % 60 == 0:
                    watcher = site.watcher()
                    most = max(most, len(runs.listing(db, campaign.id)) - own)
        assert DAYS - 6 <= taken <= DAYS + 2
        assert most <= 32 and len(watching.canaries(db)) <= 92
        assert len(watching.days(db)) <= 92
        removed = [line for line in said if line.startswith("removed by age")]
        assert len(removed) > 300 and "launches of" in removed[0]
        assert sum(day.missed for day in watching.days(db)) == 0
        assert len(watching.every(db)) <= 3
        assert integrity.problems(db) == []
