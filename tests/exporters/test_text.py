"""The text of a scrape is that of prometheus_client."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.exposition import choose_encoder

from plumbline_exporters.metrics import DatabaseCollector, scrape
from tests.exporters import installation
from tests.exporters.test_metrics_of_watching import NOW

ACCEPTS = [
    "",
    "text/plain; version=0.0.4",
    "text/plain; version=1.0.0; escaping=allow-utf-8",
    "application/openmetrics-text",
    "application/openmetrics-text; version=1.0.0",
    "application/openmetrics-text; version=1.0.0; escaping=allow-utf-8",
    "application/openmetrics-text; version=2.0.0",
]


class Fixed(CollectorRegistry):
    """The same at each scrape."""

    def __init__(self, metrics: list[Metric]) -> None:
        super().__init__(auto_describe=False)
        self.metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self.metrics


def is_the_same(metrics: list[Metric], accept: str) -> None:
    registry = Fixed(metrics)
    encode, kind = choose_encoder(accept)
    assert scrape.encoded(registry, accept) == (encode(registry), kind)


@pytest.mark.parametrize("accept", ACCEPTS)
def test_all_that_is_told(tmp_path: Path, accept: str) -> None:
    path = tmp_path / "plumbline.db"
    installation.fill(path, NOW)
    metrics = list(DatabaseCollector(path).collect())
    for collector in (GCCollector, PlatformCollector):
        metrics += collector(registry=CollectorRegistry()).collect()
    is_the_same(metrics, accept)


values = st.floats() | st.integers(-(2**60), 2**60)
# Prometheus keeps names that begin with two of them for itself.
names = st.from_regex(r"(?!__)[a-z_][a-z0-9_]{0,8}", fullmatch=True)


@given(
    st.sampled_from([GaugeMetricFamily, CounterMetricFamily]),
    st.text(),
    st.dictionaries(names, st.text(), max_size=3),
    values,
    st.sampled_from(ACCEPTS),
)
def test_any_words_and_numbers(
    kind: type[GaugeMetricFamily], words: str, labels: dict[str, str], value: float, accept: str
) -> None:
    metric = kind("name", words, labels=list(labels))
    metric.add_metric(list(labels.values()), value)
    is_the_same([metric], accept)


@pytest.mark.parametrize("accept", ACCEPTS)
def test_other_kinds(accept: str) -> None:
    histogram = HistogramMetricFamily("h", "", buckets=[("1", 2), ("+Inf", 3)], sum_value=4)
    timed = GaugeMetricFamily("timed", "", labels=[])
    timed.add_metric([], 1, timestamp=123)
    others = [
        GaugeMetricFamily("seconds", 'a "word"\nor \\ two', value=math.nan, unit="seconds"),
        InfoMetricFamily("info", "", {"a": "b"}),
        StateSetMetricFamily("state", "", {"on": True, "off": False}),
        CounterMetricFamily("created", "", value=1, created=12.5),
    ]
    for metrics in (others, others[:3], [*others, histogram], [timed], []):
        is_the_same(metrics, accept)
