"""The metrics say what the database holds, in a text that promtool accepts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry, Metric, generate_latest

from plumbline_db import campaigns, runs, verdicts
from plumbline_db.connection import Database
from plumbline_exporters import metrics
from plumbline_exporters.metrics import DatabaseCollector, collector
from tests.db import build

HERE = {"machine": "m-5f0c21ab", "library": "openmpi-4.1.4", "nprocs": "4", "ppn": "4"}
COLLECTORS = ("guidelines", "winners", "campaigns", "cost", "places")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plumbline.db"


def scrape(path: Path) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(path))
    return registry


def value(path: Path, name: str, **labels: str) -> float | None:
    return scrape(path).get_sample_value(name, labels)


def of(path: Path, name: str, **labels: str) -> float | None:
    return value(path, name, **HERE, **labels)


def promtool(text: str) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool on PATH (Debian package prometheus)")
    done = subprocess.run(
        [program, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_finished_campaign(path: Path) -> None:
    with Database.open(path, write=True) as db:
        campaign = build.finished(db)
        done = msgspec.structs.replace(campaign, state="finished", finished="2025-03-01T10:05:00Z")
        campaigns.put(db, done)
        launch = msgspec.structs.replace(build.run("confirm-1"), outcome="failed")
        runs.put(db, launch, [])
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 2
    assert of(path, "plumbline_violations", guideline="GL12", stage="after") == 0
    assert of(path, "plumbline_undecided", guideline="MONOTONY", stage="before") == 1
    assert of(path, "plumbline_undecided", guideline="GL12", stage="before") == 0
    assert of(path, "plumbline_worst_ratio", guideline="GL12", stage="before") == 1.84
    assert of(path, "plumbline_worst_ratio", guideline="MONOTONY", stage="before") is None
    assert of(path, "plumbline_speedup_best_ratio", function="MPI_Allreduce") == 2.0
    assert of(path, "plumbline_speedup_median_ratio", function="MPI_Gather") == 1.4
    assert of(path, "plumbline_last_success_timestamp_seconds") == 1740823500
    assert of(path, "plumbline_cells") == 1
    assert of(path, "plumbline_launches_total") == 4
    assert of(path, "plumbline_launches_failed_total") == 1
    assert of(path, "plumbline_launch_seconds_total") == pytest.approx(3.6)
    assert of(path, "plumbline_timed_seconds_total") == pytest.approx(1.6)
    for name in COLLECTORS:
        assert value(path, "plumbline_scrape_success", collector=name) == 1
    promtool(generate_latest(scrape(path)).decode())


def test_size_and_round_are_no_labels(path: Path) -> None:
    with Database.open(path, write=True) as db:
        campaign = build.finished(db)
        before = len(generate_latest(scrape(path)).splitlines())
        many = [build.verdict("before", bytes=2**i, other_bytes=2**i) for i in range(30)]
        verdicts.put(db, campaign.id, "before", [*many, *verdicts.get(db, campaign.id, "before")])
        verdicts.put(db, campaign.id, "round-1", [build.verdict("round-1")])
    assert len(generate_latest(scrape(path)).splitlines()) == before
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 32


def test_the_last_verified_campaign_speaks_for_its_place(path: Path) -> None:
    with Database.open(path, write=True) as db:
        build.finished(db)
        later = msgspec.structs.replace(build.CAMPAIGN, id="c-2", key="k-2")
        campaigns.put(db, later)
        assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 2
        verdicts.put(db, "c-2", "before", [build.verdict("before")])
        other = msgspec.structs.replace(build.CAMPAIGN, id="c-3", key="k-3", nprocs=8, ppn=8)
        campaigns.put(db, other)
        verdicts.put(db, "c-3", "before", [build.verdict("before", nprocs=8, ppn=8)] * 3)
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 1
    assert of(path, "plumbline_violations", guideline="GL12", stage="after") is None
    eight = {**HERE, "nprocs": "8", "ppn": "8", "guideline": "GL12", "stage": "before"}
    assert value(path, "plumbline_violations", **eight) == 3
    promtool(generate_latest(scrape(path)).decode())


def test_no_data_is_not_a_failure(path: Path) -> None:
    Database.open(path, write=True).close()
    for name in COLLECTORS:
        assert value(path, "plumbline_scrape_success", collector=name) == 1
    text = generate_latest(scrape(path)).decode()
    assert "plumbline_violations{" not in text
    promtool(text)


@pytest.mark.parametrize("content", [None, b"no database at all"])
def test_failure_is_not_no_data(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    for name in COLLECTORS:
        assert value(path, "plumbline_scrape_success", collector=name) == 0
    text = generate_latest(scrape(path)).decode()
    assert "plumbline_violations" not in text and "plumbline_build_info{" in text
    promtool(text)


def test_one_collector_may_fail_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(path, write=True) as db:
        build.finished(db)
    broken = dict(metrics._collectors)
    monkeypatch.setattr(metrics, "_collectors", broken)

    @collector("broken")
    def collect(db: Database) -> list[Metric]:
        with Database.open(path.with_name("gone.db")):
            return []

    assert value(path, "plumbline_scrape_success", collector="broken") == 0
    assert value(path, "plumbline_scrape_success", collector="winners") == 1
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 2


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="two collectors are called winners"):
        collector("winners")(lambda db: [])


def test_every_metric_is_documented() -> None:
    page = Path(__file__).parents[2] / "docs" / "serve.md"
    text = page.read_text("utf-8")
    source = Path(metrics.__file__).read_text("utf-8")
    counters = ("launches", "launches_failed", "launch_seconds", "timed_seconds")
    names = {word.split('"')[0] for word in source.split('"plumbline_')[1:]}
    assert {"violations", *counters} <= names
    for name in names:
        suffix = "_total" if name in counters else ""
        assert f"`plumbline_{name}{suffix}" in text
