"""The names of guidelines, for Prometheus: what its other series number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline.core import guidelines
from plumbline_exporters.metrics.scrape import Scrape


def guideline_names(scrape: Scrape) -> Iterator[Metric]:
    """One series for each guideline that something is said of: never more than there are."""
    info = GaugeMetricFamily(
        "plumbline_guideline_info",
        "A guideline that was verified, with its name; always 1.",
        labels=("guideline", "name"),
    )
    names = _names()
    verified = {
        guideline
        for covered in (*scrape.coverage, *scrape.overlap)
        for of_stage in covered.stages.values()
        for guideline in of_stage.guidelines
    }
    for guideline in sorted(verified & names.keys()):
        info.add_metric((guideline, names[guideline]), 1)
    yield info


@cache
def _names() -> Mapping[str, str]:
    return guidelines.load().names()
