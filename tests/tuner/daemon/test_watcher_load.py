"""What it leaves to others."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from plumbline.daemon import watcher
from plumbline.daemon.configuration import DaemonConfiguration, MeasuringHours, Neighbour
from plumbline.daemon.watcher import WatchConditions
from plumbline.settings import campaign_file
from plumbline.system.toml import Document
from plumbline_db.watching import WatchDay

QUIET = WatchConditions(closed="", load=0.1, today_seconds=0.0, week_seconds=0.0)
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("limits", "changes", "said"),
    [
        (Neighbour(), {}, ""),
        (Neighbour(), {"closed": "no window is open"}, "no window is open"),
        (
            Neighbour(load=0.5),
            {"load": 0.51},
            "the load is 0.51 for each processing unit, above 0.50",
        ),
        (Neighbour(), {"today_seconds": 7200.0}, "7200 node-seconds were used today, of 7200"),
        (Neighbour(), {"week_seconds": 36000.5}, "in the last seven days, of 36000"),
    ],
)
def test_why_not(limits: Neighbour, changes: dict[str, object], said: str) -> None:
    found = watcher.why_not(limits, msgspec.structs.replace(QUIET, **changes))
    assert (said in found) if said else found == ""


def test_days_and_windows_are_counted() -> None:
    settings = campaign_file.of(Document("test"), {"nprocs": 4}, {})
    days = [WatchDay("2026-11-17", 1.0), WatchDay("2026-11-18", 2.0), WatchDay("2026-11-24", 4.0)]
    configuration = DaemonConfiguration(schedule=MeasuringHours(windows=("22:00-06:00",)))
    seen = watcher.look(configuration, settings, days, NOW)
    assert (seen.today_seconds, seen.week_seconds) == (4.0, 6.0)
    assert "no window is open" in seen.closed
    assert seen.load is not None and seen.load >= 0
