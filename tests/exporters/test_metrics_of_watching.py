"""What is told of `plumbline watch`, of changes and of ages."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec
import pytest
from prometheus_client import generate_latest

from plumbline.daemon.step import DaemonStep
from plumbline_db import watching
from plumbline_db.connection import Database
from plumbline_db.watching import WatchDay
from plumbline_exporters.metrics import Scrape
from plumbline_exporters.metrics import watching as metrics_of_watching
from plumbline_exporters.metrics.watching import STEPS
from tests.exporters import installation
from tests.exporters.test_metrics import HERE, of, promtool, scrape, value

NOW = datetime.datetime(2025, 3, 20, 12, tzinfo=datetime.UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    installation.fill(path, NOW)
    return path


def test_promtool_finds_nothing_wrong(path: Path) -> None:
    text = generate_latest(scrape(path)).decode()
    assert 'plumbline_scrape_success{collector="watch"} 1.0' in text
    assert "plumbline_scrape_success{" in text and "} 0.0\n" in text
    assert not any(
        line.startswith("plumbline_scrape_success") and line.endswith(" 0.0")
        for line in text.splitlines()
    )
    promtool(text)


def test_what_has_come_and_gone_since_the_full_table_before(path: Path) -> None:
    at = {"guideline": "GL12", "stage": "before"}
    assert of(path, "plumbline_violations", **at) == 1
    assert of(path, "plumbline_violations_new", **at) == 1
    assert of(path, "plumbline_violations_gone", **at) == 1
    assert of(path, "plumbline_violations_new", guideline="GL12", stage="after") == 0
    eight = {**HERE, "nprocs": "8", "ppn": "8"}  # nothing to compare with
    assert value(path, "plumbline_violations", **eight, **at) == 1
    assert value(path, "plumbline_violations_new", **eight, **at) is None


def test_ages_and_coverage_of_tables(path: Path) -> None:
    day = 86400
    full = of(path, "plumbline_full_table_timestamp_seconds", stage="before")
    assert full == NOW.timestamp() - day
    assert of(path, "plumbline_newest_table_coverage_ratio", stage="before") == 1
    assert of(path, "plumbline_table_cells", stage="before") == 2
    assert of(path, "plumbline_noise_ratio", stage="after") == pytest.approx(0.02 / 0.9)


def test_the_campaign_under_way(path: Path) -> None:
    eight = {**HERE, "nprocs": "8", "ppn": "8", "campaign": "c-3"}
    started = NOW.timestamp() - 3600
    assert value(path, "plumbline_campaign_started_timestamp_seconds", **eight) == started
    assert value(path, "plumbline_campaign_launches", **eight) == 3
    newest = "plumbline_campaign_newest_launch_timestamp_seconds"
    assert value(path, newest, **eight) == started
    assert of(path, "plumbline_campaign_launches", campaign="c-2") is None


def test_wrong_results_are_counted(path: Path) -> None:
    assert of(path, "plumbline_wrong_results_total") == 4  # two launches each of two campaigns
    assert of(path, "plumbline_launches_failed_total", failure="ended") == 2


def test_the_daemon(path: Path) -> None:
    assert value(path, "plumbline_watch_running") == 1
    assert value(path, "plumbline_watch_waiting") == 0
    assert value(path, "plumbline_watch_stepped_timestamp_seconds") == NOW.timestamp()
    step = "plumbline_watch_step"
    assert value(path, step, plumbline_watch_step="canary") == 1
    assert value(path, step, plumbline_watch_step="search") == 0
    assert value(path, "plumbline_watch_budget_node_seconds", period="day") == 7200


def test_each_step_is_known() -> None:
    assert {step.value for step in DaemonStep} == set(STEPS)


def test_regressions(path: Path) -> None:
    at = {"campaign": "c-2", "direction": "slower"}
    assert of(path, "plumbline_regressions", state="confirmed", **at) == 1
    assert of(path, "plumbline_regressions", state="raised", **at) == 0
    assert of(path, "plumbline_regression_worst_ratio", function="MPI_Allreduce", **at) == 1.2
    assert of(path, "plumbline_retunings", campaign="c-2", state="searching") == 1
    assert of(path, "plumbline_watched_cells", campaign="c-2", role="winner") == 1
    assert of(path, "plumbline_table_stale", campaign="c-2") == 0


def days(path: Path, now: datetime.datetime) -> dict[tuple[str, str], float]:
    """By name and the value of the one label."""
    with Database.open(path) as db:
        told = list(metrics_of_watching.days(Scrape(db, now)))
    return {
        (sample.name, *sample.labels.values()): sample.value
        for metric in told
        for sample in metric.samples
    }


def test_counters_are_those_of_the_day(path: Path) -> None:
    """So a day that is pruned changes none of them."""
    found = days(path, NOW)
    assert found["plumbline_watch_canaries_total", "judged"] == 20
    assert found["plumbline_watch_node_seconds", "day"] == 40
    assert found["plumbline_watch_node_seconds", "week"] == 80
    tomorrow = days(path, NOW + installation.DAY)
    assert tomorrow["plumbline_watch_canaries_total", "judged"] == 0
    assert tomorrow["plumbline_watch_node_seconds", "week"] == 80
    with Database.open(path, write=True) as db:
        watching.add(db, WatchDay("2025-03-21", 5.0))
    assert days(path, NOW + installation.DAY)["plumbline_watch_node_seconds", "day"] == 5


def test_a_daemon_that_said_little_is_told(path: Path) -> None:
    with Database.open(path, write=True) as db:
        known = watching.get(db)
        assert known is not None
        watching.put(db, msgspec.structs.replace(known, stepped="", configuration="{}"))
    assert value(path, "plumbline_watch_stepped_timestamp_seconds") is None
    assert value(path, "plumbline_scrape_success", collector="watch_days") == 1
