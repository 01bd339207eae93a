"""The text of a scrape, and the same as a file for node_exporter."""

from __future__ import annotations

import math
import os
import shutil
import stat
import subprocess
import sys
import urllib.request
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

from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters.metrics import DatabaseCollector, scrape
from plumbline_exporters.metrics.scrape import write_textfile
from tests.db import build
from tests.exporters import installation
from tests.exporters.prometheus import ends, free_port
from tests.exporters.test_metrics import promtool
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


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "plumbline.db"
    with Database.open(path, write=True) as db:
        build.done(db)
    return path


def test_it_is_written_as_a_whole_for_all_to_read(database: Path, tmp_path: Path) -> None:
    folder = tmp_path / "textfile"
    folder.mkdir()
    target = folder / "plumbline.prom"
    target.write_text("before")
    write_textfile(database, target)
    text = target.read_text()
    assert "plumbline_violations{" in text and "process_" not in text and "python_info" not in text
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert list(folder.iterdir()) == [target]  # nothing else is left there
    promtool(text)


def test_node_exporter_reads_it(database: Path, tmp_path: Path) -> None:
    program = shutil.which("prometheus-node-exporter")
    if program is None:
        pytest.skip("no prometheus-node-exporter on PATH (the Debian package of that name)")
    write_textfile(database, tmp_path / "plumbline.prom")
    address = f"127.0.0.1:{free_port()}"
    options = ("--collector.disable-defaults", "--collector.textfile")
    process = subprocess.Popen(
        [
            *(program, *options, f"--collector.textfile.directory={tmp_path}"),
            f"--web.listen-address={address}",
        ],
        stderr=subprocess.DEVNULL,
    )
    url = f"http://{address}/metrics"
    with (
        ends(process, lambda: urllib.request.urlopen(url, timeout=5).close()),
        urllib.request.urlopen(url, timeout=30) as answer,
    ):
        text = answer.read().decode()
    assert "plumbline_violations{" in text and "node_textfile_scrape_error 0" in text


def test_a_database_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    target = tmp_path / "plumbline.prom"
    command = [sys.executable, "-m", "plumbline", "--db", str(tmp_path / "none.db"), "serve"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, "--textfile", str(target)], env=environment, capture_output=True, timeout=60
    )
    assert done.returncode == 1 and b"there is no database" in done.stderr
    assert 'plumbline_scrape_success{collector="guidelines"} 0.0' in target.read_text()


def test_names_and_places_that_are_none(database: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"end with \.prom"):
        write_textfile(database, tmp_path / "plumbline.txt")
    with pytest.raises(PlumblineError, match="cannot write"):
        write_textfile(database, tmp_path / "none" / "plumbline.prom")
