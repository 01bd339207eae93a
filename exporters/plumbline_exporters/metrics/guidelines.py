"""Violations of each guideline, before and after: of each cell the newest verdict, whichever
campaign it is of; and what has changed since the full table before."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline_exporters.metrics.scrape import PLACE, Scrape, collector, labels


@collector("guidelines")
def guidelines(scrape: Scrape) -> Iterator[Metric]:
    names = (*PLACE, "guideline", "stage")
    violations = GaugeMetricFamily(
        "plumbline_violations",
        "Cells that violate a guideline in every way of use that was measured.",
        labels=names,
    )
    in_some_uses = GaugeMetricFamily(
        "plumbline_violations_in_some_uses",
        "Cells that violate a guideline in some ways of use only.",
        labels=names,
    )
    undecided = GaugeMetricFamily(
        "plumbline_undecided", "Cells without enough evidence for a verdict.", labels=names
    )
    worst = GaugeMetricFamily(
        "plumbline_worst_ratio", "Largest ratio of left side over right side.", labels=names
    )
    new = GaugeMetricFamily(
        "plumbline_violations_new",
        "Cells that held in the last full table before the newest one, and are violated now.",
        labels=names,
    )
    gone = GaugeMetricFamily(
        "plumbline_violations_gone",
        "Cells that were violated in the last full table before the newest one, and hold now.",
        labels=names,
    )
    for covered in (*scrape.coverage, *scrape.overlap):
        where = labels(covered.place)
        for stage, of_stage in covered.stages.items():
            for guideline, count in of_stage.guidelines.items():
                values = (*where, guideline, stage)
                violations.add_metric(values, count.violations)
                in_some_uses.add_metric(values, count.in_some_uses)
                undecided.add_metric(values, count.undecided)
                for metric, value in (
                    (worst, count.worst_ratio),
                    (new, count.appeared),
                    (gone, count.gone),
                ):
                    if value is not None:
                        metric.add_metric(values, value)
    yield from (violations, in_some_uses, undecided, worst, new, gone)
