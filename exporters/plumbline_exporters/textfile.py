"""The metrics as a file for node_exporter's textfile collector, where no port is to be open."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters.metrics import MOST_SERIES, DatabaseCollector
from plumbline_exporters.metrics.scrape import Collect

ENDING = ".prom"


def write(
    database: Path,
    target: Path,
    more: Mapping[str, Collect] | None = None,
    most: int = MOST_SERIES,
    *,
    simulated: bool = False,
) -> None:
    """Replaces `target` as a whole, for all to read. A database that cannot be read is told by
    plumbline_scrape_success. Without metrics of this process: node_exporter has its own."""
    if target.suffix != ENDING:
        raise UsageError(f"--textfile {target}: node_exporter reads files that end with {ENDING}")
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(database, more, most, simulated=simulated))
    text = generate_latest(registry)
    try:
        with scratch.replacing(target.absolute()) as part:
            part.write_bytes(text)
            part.chmod(0o644)
    except OSError as error:
        raise PlumblineError(f"cannot write {target}: {error.strerror}") from error
