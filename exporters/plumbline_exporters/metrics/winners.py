"""The gains of the winners in use, by function."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline_db import findings
from plumbline_exporters.metrics.scrape import PLACE, Scrape, collector, labels


@collector("winners")
def winners(scrape: Scrape) -> Iterator[Metric]:
    names = (*PLACE, "function")
    best = GaugeMetricFamily(
        "plumbline_speedup_best_ratio",
        "Default time over winner's time: the largest over the function's winners.",
        labels=names,
    )
    middle = GaugeMetricFamily(
        "plumbline_speedup_median_ratio",
        "Default time over winner's time: the median over the function's winners.",
        labels=names,
    )
    in_use = GaugeMetricFamily(
        "plumbline_winners",
        "Winners of the campaign whose winners are in use.",
        labels=(*PLACE, "campaign"),
    )
    for covered in scrape.coverage:
        if covered.in_force is None:
            continue
        where = labels(covered.place)
        speedups = findings.speedups(scrape.db, covered.in_force)
        in_use.add_metric((*where, covered.in_force), sum(map(len, speedups.values())))
        for function, values in speedups.items():
            best.add_metric((*where, function), max(values))
            middle.add_metric((*where, function), median(values))
    yield from (best, middle, in_use)
