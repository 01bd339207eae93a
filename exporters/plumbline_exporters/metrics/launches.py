"""Launches and seconds of all campaigns together, and what went wrong in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from prometheus_client.core import CounterMetricFamily, Metric

from plumbline_db.cost import Spending
from plumbline_db.coverage import Place
from plumbline_db.records import FailureKind
from plumbline_exporters.metrics.scrape import PLACE, Scrape, collector, labels


@collector("launches")
def totals(scrape: Scrape) -> Iterator[Metric]:
    launches = CounterMetricFamily("plumbline_launches", "Launches, failed ones too.", labels=PLACE)
    failed = CounterMetricFamily(
        "plumbline_launches_failed", "Launches that failed, by how.", labels=(*PLACE, "failure")
    )
    seconds = CounterMetricFamily(
        "plumbline_launch_seconds", "Wall time of all launches.", labels=PLACE
    )
    timed = CounterMetricFamily(
        "plumbline_timed_seconds", "Time inside timed regions.", labels=PLACE
    )
    wrong = CounterMetricFamily(
        "plumbline_wrong_results",
        "Wrong results of the library, as it is or with exported files in force.",
        labels=PLACE,
    )
    for where, parts in sorted(_by_place(scrape).items()):
        values = labels(where)
        launches.add_metric(values, sum(part.launches for part in parts))
        seconds.add_metric(values, sum(part.seconds for part in parts))
        timed.add_metric(values, sum(part.timed_seconds for part in parts))
        wrong.add_metric(values, sum(part.wrong for part in parts))
        for kind in get_args(FailureKind):
            count = sum(part.launches for part in parts if part.failure == kind)
            failed.add_metric((*values, kind), count)
    yield from (launches, failed, seconds, timed, wrong)


def _by_place(scrape: Scrape) -> dict[Place, list[Spending]]:
    spendings_by_place: dict[Place, list[Spending]] = {}
    for campaign in scrape.campaigns:
        parts = spendings_by_place.setdefault(scrape.place(campaign), [])
        parts += scrape.spent.get(campaign.id, [])
    return spendings_by_place
