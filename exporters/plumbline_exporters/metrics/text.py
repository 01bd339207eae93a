"""The text of a scrape: byte for byte what prometheus_client writes, in a third of its time, as
each label is escaped once. What else that library can write (histograms, exemplars, times of
samples, names beyond ASCII letters) it writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from plumbline_db import scratch
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters.metrics import MOST_SERIES, DatabaseCollector
from plumbline_exporters.metrics.scrape import Collect

# The name of a type in the plain format, and the suffix of such a family's name.
_PLAIN = {
    "gauge": ("gauge", ""),
    "counter": ("counter", "_total"),
    "info": ("gauge", "_info"),
    "stateset": ("gauge", ""),
}
_OPENMETRICS = "application/openmetrics-text; version=1.0.0;"
_PLAIN_KIND = "text/plain;"


def encoded(registry: CollectorRegistry, accept: str) -> tuple[bytes, str]:
    """The text that a request's header asks for, and its content type."""
    encode, kind = choose_encoder(accept)
    own = _openmetrics if kind.startswith(_OPENMETRICS) else _plain
    if own is _plain and not kind.startswith(_PLAIN_KIND):
        return encode(registry), kind
    metrics = list(registry.collect())
    if not all(map(_is_simple, metrics)):
        return encode(_Collected(metrics)), kind
    return "".join(own(metrics)).encode(), kind


class _Collected(CollectorRegistry):
    """Metrics that were collected already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        super().__init__(auto_describe=False)
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics


def _is_simple(metric: Metric) -> bool:
    return (
        metric.type in _PLAIN
        and metric.name.isascii()
        and metric.name.isidentifier()
        and all(
            sample.exemplar is None
            and sample.timestamp is None
            and sample.native_histogram is None
            and not sample.name.endswith("_created")
            for sample in metric.samples
        )
    )


def _plain(metrics: Iterable[Metric]) -> Iterator[str]:
    for metric in metrics:
        kind, ending = _PLAIN[metric.type]
        words = metric.documentation.replace("\\", r"\\").replace("\n", r"\n")
        yield f"# HELP {metric.name}{ending} {words}\n# TYPE {metric.name}{ending} {kind}\n"
        yield from map(_line, metric.samples)


def _openmetrics(metrics: Iterable[Metric]) -> Iterator[str]:
    for metric in metrics:
        yield f"# HELP {metric.name} {_escaped(metric.documentation)}\n"
        yield f"# TYPE {metric.name} {metric.type}\n"
        if metric.unit:
            yield f"# UNIT {metric.name} {metric.unit}\n"
        yield from map(_line, metric.samples)
    yield "# EOF\n"


def _line(sample: Sample) -> str:
    value = floatToGoString(sample.value)  # type: ignore[no-untyped-call]
    if not sample.labels:
        return f"{sample.name} {value}\n"
    labels = ",".join([_label(name, text) for name, text in sorted(sample.labels.items())])
    return f"{sample.name}{{{labels}}} {value}\n"


@lru_cache(maxsize=20_000)
def _label(name: str, text: str) -> str:
    return f'{name}="{_escaped(text)}"'


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


ENDING = ".prom"


def write_textfile(
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
