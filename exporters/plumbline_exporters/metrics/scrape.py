"""The parts of a scrape: collectors over one read-only connection, in the order of their names, and
what is told of the scrape itself.

A collector is a function under `@collector(...)`. One that fails gives plumbline_scrape_success 0
and no series; one that has nothing to say gives 1 and no series: no data is not a failure.

The text of a scrape is byte for byte what prometheus_client writes, in a third of its time, as each
label is escaped once. What else that library can write (histograms, exemplars, times of samples,
names beyond ASCII letters) it writes itself."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property, lru_cache
from importlib import metadata
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

from plumbline_db import campaigns, cost, coverage, machines, scratch
from plumbline_db.connection import Database
from plumbline_db.cost import Spending
from plumbline_db.coverage import Coverage, Place
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.layout import is_simulated
from plumbline_db.records import Campaign, Library, Machine

PLACE = ("machine", "host", "library", "fingerprint", "nprocs", "ppn")


def labels(place: Place) -> tuple[str, ...]:
    """The values of PLACE."""
    ranks = (str(place.nprocs), str(place.ppn))
    return (place.machine, place.host, place.library, place.fingerprint, *ranks)


def _place_of(
    campaign: Campaign, machines: Mapping[str, Machine], libraries: Mapping[str, Library]
) -> Place:
    """`machines` by id, `libraries` by fingerprint."""
    library = libraries[campaign.library_fingerprint]
    return Place(
        machine=campaign.machine,
        host=machines[campaign.machine].host,
        library=library.id,
        fingerprint=library.fingerprint,
        nprocs=campaign.nprocs,
        ppn=campaign.ppn,
    )


def unix(text: str) -> float:
    """Seconds, of a time of day in ISO 8601."""
    return datetime.fromisoformat(text).timestamp()


# The number of series that a scrape may have. What is left out is left out by whole places, so that
# sums of a place are right or not there; what is of no place is always told.

# The metrics whose newest time shows how recent a place is.
_TIME = "_timestamp_seconds"

_Labels = tuple[str, ...]


def limited(metrics: Sequence[Metric], most: int) -> tuple[list[Metric], int]:
    """Return at most `most` series, or those that are of no place; and how many are left out."""
    if sum(len(metric.samples) for metric in metrics) <= most:
        return list(metrics), 0
    counts: dict[_Labels | None, int] = {}
    newest: dict[_Labels, float] = {}
    for metric in metrics:
        for sample in metric.samples:
            place = _place(sample)
            counts[place] = counts.get(place, 0) + 1
            if place is not None and sample.name.endswith(_TIME):
                newest[place] = max(sample.value, newest.get(place, 0.0))
    room = most - counts.pop(None, 0)
    kept: set[_Labels | None] = {None}
    left_out = 0
    places = [place for place in counts if place is not None]
    for place in sorted(places, key=lambda each: (-newest.get(each, 0.0), each)):
        if counts[place] <= room:
            room -= counts[place]
            kept.add(place)
        else:
            room, left_out = 0, left_out + counts[place]
    return [_part(metric, kept) for metric in metrics], left_out


def _place(sample: Sample) -> _Labels | None:
    """None: it is of no place."""
    labels = sample.labels
    if PLACE[0] not in labels or "nprocs" not in labels:
        return None
    return tuple(labels[name] for name in PLACE)


def _part(metric: Metric, kept: set[_Labels | None]) -> Metric:
    part = Metric(metric.name, metric.documentation, metric.type, metric.unit)
    part.samples = [sample for sample in metric.samples if _place(sample) in kept]
    return part


MOST_SERIES = 5000
_log = logging.getLogger("plumbline")


class Scrape:
    """Reads once what several collectors need. `now`: the time of the scrape. `simulated`: machines
    that are simulated are included; a change there is news of no installation."""

    def __init__(
        self, db: Database, now: datetime | None = None, *, simulated: bool = False
    ) -> None:
        self.db = db
        self.now = now or datetime.now(UTC)
        self._simulated = simulated

    @cached_property
    def left_out(self) -> set[str]:
        """Fingerprints of libraries that are simulated."""
        if self._simulated:
            return set()
        every_campaign = campaigns.all_campaigns(self.db)
        return {
            campaign.library_fingerprint for campaign in every_campaign if is_simulated(campaign)
        }

    def _told(self, coverages: list[Coverage]) -> list[Coverage]:
        return [covered for covered in coverages if covered.place.fingerprint not in self.left_out]

    @cached_property
    def coverage(self) -> list[Coverage]:
        return self._told(coverage.of_campaigns(self.db))

    @cached_property
    def overlap(self) -> list[Coverage]:
        return self._told(coverage.of_overlap(self.db))

    @cached_property
    def campaigns(self) -> list[Campaign]:
        """Return the campaigns in the order in which they were started."""
        every_campaign = campaigns.all_campaigns(self.db)
        return [
            campaign
            for campaign in every_campaign
            if campaign.library_fingerprint not in self.left_out
        ]

    @cached_property
    def spent(self) -> dict[str, list[Spending]]:
        """Return by campaign."""
        return cost.by_campaign(self.db)

    @cached_property
    def machines(self) -> dict[str, Machine]:
        return {machine.id: machine for machine in machines.all_machines(self.db)}

    @cached_property
    def libraries(self) -> dict[str, Library]:
        """Return by fingerprint."""
        return {library.fingerprint: library for library in machines.all_libraries(self.db)}

    def place(self, campaign: Campaign) -> Place:
        return _place_of(campaign, self.machines, self.libraries)


Collect = Callable[[Scrape], Iterable[Metric]]
_collectors: dict[str, Collect] = {}


def gauge(name: str, documentation: str, *labels: str) -> GaugeMetricFamily:
    """Return a gauge with the labels of a place, and further ones."""
    return GaugeMetricFamily(name, documentation, labels=(*PLACE, *labels))


def collector(name: str) -> Callable[[Collect], Collect]:
    """Register a collector under a name of its own."""

    def register(collect: Collect) -> Collect:
        if name in _collectors:
            raise ValueError(f"two collectors are called {name}")
        _collectors[name] = collect
        return collect

    return register


class DatabaseCollector(Collector):
    """All collectors, those of other rooms (`more`) too; the database is opened and closed at every
    scrape. Of more than `most` series, whole places are left out, those first that were measured
    longest ago."""

    def __init__(
        self,
        path: Path,
        more: Mapping[str, Collect] | None = None,
        most: int = MOST_SERIES,
        *,
        simulated: bool = False,
    ) -> None:
        self._path = path
        self._simulated = simulated
        self._collectors = _collectors | dict(more or {})
        self._most = most

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        success = GaugeMetricFamily(
            "plumbline_scrape_success",
            "Whether a collector could read the database; 1 without series means no data.",
            labels=("collector",),
        )
        seconds = GaugeMetricFamily(
            "plumbline_scrape_duration_seconds", "Time a collector took.", labels=("collector",)
        )
        collected: list[Metric] = []
        try:
            db = Database.open(self._path)
        except PlumblineError as error:
            _log.warning("%s", error)
            for name in sorted(self._collectors):
                success.add_metric((name,), 0)
        else:
            with db, db.snapshot():
                scrape = Scrape(db, simulated=self._simulated)
                for name, collect in sorted(self._collectors.items()):
                    started = time.perf_counter()
                    try:
                        collected += collect(scrape)
                        success.add_metric((name,), 1)
                    except Exception as error:  # one that fails takes no other with it
                        _log.warning("collector %s: %s: %s", name, type(error).__name__, error)
                        success.add_metric((name,), 0)
                    seconds.add_metric((name,), time.perf_counter() - started)
        kept, left_out = limited(collected, self._most)
        yield InfoMetricFamily(
            "plumbline_build",
            "Version of Plumbline; always 1.",
            value={"version": _version(), "python": platform.python_version()},
        )
        yield from (success, seconds, *_counted(kept, self._most, left_out), *kept)


def _counted(kept: Iterable[Metric], most: int, left_out: int) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "plumbline_series",
        "Series that were read from the database.",
        value=sum(len(metric.samples) for metric in kept),
    )
    yield GaugeMetricFamily("plumbline_series_limit", "How many there may be.", value=most)
    yield GaugeMetricFamily(
        "plumbline_series_left_out",
        "Series of places that are left out, as there are too many.",
        value=left_out,
    )


@cache
def _version() -> str:
    try:
        return metadata.version("plumbline")
    except metadata.PackageNotFoundError:
        return "unknown"


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
