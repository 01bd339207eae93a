"""The metrics say what the database holds, in a text that promtool accepts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry, Metric, generate_latest

from plumbline_db import findings, machines, runs
from plumbline_db.connection import Database
from plumbline_exporters import metrics
from plumbline_exporters.metrics import DatabaseCollector, Scrape, collector
from plumbline_exporters.metrics import scrape as scrape_room
from tests.db import build

HERE = {
    "machine": "m-5f0c21ab",
    "host": "node1",
    "library": "openmpi-4.1.4",
    "fingerprint": "9d1c5f6a",
}
HERE |= {"nprocs": "4", "ppn": "4"}
COLLECTORS = (
    "campaigns", "coverage", "database", "guidelines", "launches", "places", "tables", "under_way",
    "winners",
)  # fmt: skip


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
        build.done(db)
        launch = msgspec.structs.replace(build.run("confirm-1"), failure=build.EXIT)
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
    assert of(path, "plumbline_launches_failed_total", failure="ended") == 1
    assert of(path, "plumbline_launches_failed_total", failure="hung") == 0
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
        findings.put_verdicts(
            db, campaign.id, "before", [*many, *findings.get_verdicts(db, campaign.id, "before")]
        )
        findings.put_verdicts(db, campaign.id, "round-1", [build.verdict("round-1")])
    assert len(generate_latest(scrape(path)).splitlines()) == before
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 30


HOLDS = {"verdict": "holds", "ratio": 0.9}
VERIFY = '{"launches":12,"rounds":0}'


def series(path: Path) -> dict[tuple[str, str], float]:
    """All series of violations and speed-ups, by name and labels."""
    lines = generate_latest(scrape(path)).decode().splitlines()
    names = ("plumbline_violations{", "plumbline_speedup_")
    words = [line.rpartition(" ") for line in lines if line.startswith(names)]
    return {(name, labels): float(number) for text, _, number in words
            for name, _, labels in [text.partition("{")]}  # fmt: skip


def test_a_check_of_one_cell_replaces_that_cell_alone(path: Path) -> None:
    """`plumbline verify` of one size, which now holds: what it has not looked at stays."""
    with Database.open(path, write=True) as db:
        build.done(db)
        before = series(path)
        check = build.later(db, "c-2", 8, settings=VERIFY)
        findings.put_verdicts(db, check.id, "before", [build.verdict("before", **HOLDS)])
        findings.put_verdicts(
            db, check.id, "after", [build.verdict("after")]
        )  # of an older version
    after = series(path)
    assert before.keys() == after.keys() and len(before) > 5
    assert {labels for name, labels in before if before[name, labels] != after[name, labels]} == {
        labels
        for _, labels in before
        if 'guideline="GL12"' in labels and 'stage="before"' in labels
    }
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 1
    assert of(path, "plumbline_worst_ratio", guideline="GL12", stage="before") == 1.31
    assert of(path, "plumbline_violations", guideline="GL12", stage="after") == 0
    shares = {"c-20250301-a": 2, "c-2": 1}
    for id, count in shares.items():
        assert of(path, "plumbline_verdicts", campaign=id, stage="before") == count
    assert of(path, "plumbline_verdicts", campaign="c-2", stage="after") is None
    march = 1740823200  # the first, ten o'clock
    assert of(path, "plumbline_oldest_verdict_timestamp_seconds", stage="before") == march
    assert of(path, "plumbline_oldest_verdict_timestamp_seconds", stage="after") == march + 300
    finished = "plumbline_campaign_finished_timestamp_seconds"
    assert of(path, finished, campaign="c-2") == march + 7 * 86400 + 60
    assert of(path, finished, campaign="c-20250301-a") == march + 300
    assert of(path, "plumbline_cells") == 1  # the check's launches are not in this database
    promtool(generate_latest(scrape(path)).decode())


def test_a_check_that_covers_all_speaks_alone(path: Path) -> None:
    with Database.open(path, write=True) as db:
        old = build.done(db)
        check = build.later(db, "c-2", 8, settings=VERIFY)
        findings.put_verdicts(db, check.id, "before", findings.get_verdicts(db, old.id, "before"))
    assert of(path, "plumbline_verdicts", campaign=old.id, stage="before") is None
    assert of(path, "plumbline_verdicts", campaign="c-2", stage="before") == 3


def test_a_campaign_under_way_hides_no_finished_one(path: Path) -> None:
    with Database.open(path, write=True) as db:
        build.done(db)
        before = series(path)
        build.later(db, "c-2", 8, state="running", finished="")
        assert series(path) == before
        findings.put_verdicts(db, "c-2", "before", [build.verdict("before", **HOLDS)])
        findings.put_verdicts(db, "c-2", "round-1", [build.verdict("round-1")])
        findings.put_verdicts(db, "c-2", "after", [build.verdict("after")])
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 1
    assert of(path, "plumbline_violations", guideline="GL12", stage="after") == 0
    assert of(path, "plumbline_speedup_best_ratio", function="MPI_Allreduce") == 2.0
    assert of(path, "plumbline_winners", campaign="c-20250301-a") == 2
    finished = "plumbline_campaign_finished_timestamp_seconds"
    assert of(path, finished, campaign="c-2") is None


def test_a_campaign_that_finds_nothing_leaves_the_winners_in_use(path: Path) -> None:
    """Its last table is without any: it says nothing of what users get."""
    with Database.open(path, write=True) as db:
        build.done(db)
        build.later(db, "c-2", 8)
        other = build.verdict("after", bytes=4, other_bytes=4)
        findings.put_verdicts(db, "c-2", "after", [build.verdict("after"), other])
    assert of(path, "plumbline_speedup_best_ratio", function="MPI_Gather") == 1.4
    assert of(path, "plumbline_winners", campaign="c-20250301-a") == 2
    assert of(path, "plumbline_violations", guideline="GL12", stage="after") == 1
    assert of(path, "plumbline_verdicts", campaign="c-2", stage="after") == 1


def test_the_winners_in_use_are_those_of_the_last_campaign_that_has_any(path: Path) -> None:
    with Database.open(path, write=True) as db:
        build.done(db)
        build.later(db, "c-2", 8)
        findings.put_winners(db, "c-2", [build.winner(speedup=3.0)])
        findings.put_verdicts(db, "c-2", "after", [build.verdict("after", **HOLDS)])
    assert of(path, "plumbline_speedup_best_ratio", function="MPI_Allreduce") == 3.0
    assert of(path, "plumbline_speedup_best_ratio", function="MPI_Gather") is None
    assert of(path, "plumbline_winners", campaign="c-2") == 1
    assert of(path, "plumbline_worst_ratio", guideline="GL12", stage="after") == 0.98


def test_places_do_not_mix(path: Path) -> None:
    """Another number of ranks, another build of the same version."""
    with Database.open(path, write=True) as db:
        build.done(db)
        before = series(path)
        build.later(db, "c-3", 8, nprocs=8, ppn=8)
        findings.put_verdicts(db, "c-3", "before", [build.verdict("before", nprocs=8, ppn=8)])
        built = msgspec.structs.replace(build.LIBRARY, fingerprint="second")
        machines.put_library(db, built)
        build.later(db, "c-4", 9, library_fingerprint="second")
        findings.put_verdicts(db, "c-4", "before", [build.verdict("before", **HOLDS)])
    assert series(path).items() >= before.items()
    eight = {**HERE, "nprocs": "8", "ppn": "8", "guideline": "GL12", "stage": "before"}
    assert value(path, "plumbline_violations", **eight) == 1
    second = {**HERE, "fingerprint": "second", "guideline": "GL12", "stage": "before"}
    assert value(path, "plumbline_violations", **second) == 0
    promtool(generate_latest(scrape(path)).decode())


def test_the_golden_scrape(path: Path) -> None:
    """Every series of a small database, as Prometheus reads them; but for what differs from one
    scrape to the next. PLUMBLINE_GOLDEN=1 writes it anew."""
    with Database.open(path, write=True) as db:
        build.done(db)
        check = build.later(db, "c-2", 8, settings=VERIFY)
        findings.put_verdicts(db, check.id, "before", [build.verdict("before", **HOLDS)])
    passing = ("plumbline_build_info{", "plumbline_scrape_duration", "plumbline_database_size")
    text = generate_latest(scrape(path)).decode()
    promtool(text)
    kept = "".join(line for line in text.splitlines(True) if not line.startswith(passing))
    golden = Path(__file__).with_name("golden") / "metrics.txt"
    if os.environ.get("PLUMBLINE_GOLDEN"):
        golden.write_text(kept)
    assert kept == golden.read_text()


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
    broken = dict(scrape_room._collectors)
    monkeypatch.setattr(scrape_room, "_collectors", broken)

    @collector("broken")
    def collect(scrape: Scrape) -> list[Metric]:
        with Database.open(path.with_name("gone.db")):
            return []

    assert value(path, "plumbline_scrape_success", collector="broken") == 0
    assert value(path, "plumbline_scrape_success", collector="winners") == 1
    assert of(path, "plumbline_violations", guideline="GL12", stage="before") == 2


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="two collectors are called winners"):
        collector("winners")(lambda scrape: [])


def test_every_metric_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text("utf-8")
    sources = [file.read_text("utf-8") for file in Path(metrics.__file__).parent.glob("*.py")]
    maker = r'\b(gauge|Gauge|Counter|Info)(?:MetricFamily)?\(\s*"(plumbline_\w+)"'
    found = re.findall(maker, "".join(sources))
    suffixes = {"gauge": "", "Gauge": "", "Counter": "_total", "Info": "_info"}
    names = {name + suffixes[kind] for kind, name in found}
    assert {"plumbline_violations", "plumbline_launches_total", "plumbline_build_info"} <= names
    for name in names:
        assert f"`{name}`" in text
