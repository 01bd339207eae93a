"""The file that all of it is read from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline_db import way_back
from plumbline_exporters.metrics.scrape import Scrape, collector


@collector("database")
def database(scrape: Scrape) -> Iterator[Metric]:
    path = scrape.db.path
    log = path.with_name(path.name + "-wal")
    size = GaugeMetricFamily("plumbline_database_size_bytes", "Size of a file.", labels=("part",))
    size.add_metric(("file",), path.stat().st_size)
    size.add_metric(("log",), _bytes_of(log))
    yield size
    backup = way_back.newest_backup(path)
    if backup is not None:
        yield GaugeMetricFamily(
            "plumbline_database_backup_timestamp_seconds",
            "When the newest backup was made, in Unix time.",
            value=backup.stat().st_mtime,
        )


def _bytes_of(file: Path) -> int:
    """0: it is not there; who closes the database last takes its log away."""
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
