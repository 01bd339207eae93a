"""Of too many series whole places are left out, the oldest first."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline_db import findings
from plumbline_db.connection import Database
from plumbline_exporters.metrics import DatabaseCollector
from plumbline_exporters.metrics.scrape import PLACE, limited
from tests.db import build


def told(sizes: dict[str, int], times: dict[str, float]) -> list[Metric]:
    """`sizes` series of places that are machines, which were measured at `times`; one of none."""
    many = GaugeMetricFamily("many", "", labels=(*PLACE, "size"))
    time = GaugeMetricFamily("time_timestamp_seconds", "", labels=PLACE)
    for name, size in sizes.items():
        place = (name, *["x"] * (len(PLACE) - 1))
        for number in range(size - 1):
            many.add_metric((*place, str(number)), 1)
        time.add_metric(place, times[name])
    return [many, time, GaugeMetricFamily("other", "", value=1)]


@pytest.mark.parametrize(
    ("most", "names", "left_out"),
    [
        (16, {"old", "new", "newest"}, 0),
        (15, {"new", "newest"}, 5),
        (11, {"new", "newest"}, 5),
        (10, {"newest"}, 10),
        (1, set(), 15),
        (0, set(), 15),  # what is of no place is told all the same
    ],
)
def test_the_places_measured_last_stay(most: int, names: set[str], left_out: int) -> None:
    times = {"old": 1.0, "newest": 3.0, "new": 2.0}
    kept, missing = limited(told(dict.fromkeys(times, 5), times), most)
    samples = [sample for metric in kept for sample in metric.samples]
    assert {sample.labels["machine"] for sample in samples if sample.labels} == names
    assert len(samples) == 5 * len(names) + 1 and missing == left_out


def test_a_small_place_does_not_outlive_a_newer_large_one() -> None:
    """What is told are the newest places without a gap."""
    kept, missing = limited(told({"new": 50, "old": 2}, {"new": 2.0, "old": 1.0}), 10)
    assert missing == 52 and sum(len(metric.samples) for metric in kept) == 1


def test_a_scrape_says_that_the_limit_was_reached(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.done(db)
        later = build.later(db, "c-2", 8, nprocs=8, ppn=8)
        findings.put_verdicts(db, later.id, "before", [build.verdict("before", nprocs=8, ppn=8)])
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(path, most=40))
    assert (registry.get_sample_value("plumbline_series_left_out") or 0) > 0
    assert registry.get_sample_value("plumbline_series_limit") == 40
    assert (registry.get_sample_value("plumbline_series") or 41) <= 40
    samples = [sample for metric in registry.collect() for sample in metric.samples]
    ranks = {sample.labels["nprocs"] for sample in samples if "nprocs" in sample.labels}
    assert ranks == {"8"}  # the one that was measured last
