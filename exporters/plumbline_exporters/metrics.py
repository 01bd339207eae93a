"""The metrics of `plumbline serve`, read from the database at every scrape.

A collector is a function under `@collector(...)`. One that fails gives plumbline_scrape_success 0
and no series; one that has nothing to say gives 1 and no series: no data is not a failure. Sizes
are not labels: the table of a campaign is on the page and in the database.
"""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from weakref import WeakKeyDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from plumbline_db import campaigns, cost
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_exporters.standing import Coverage, Place, coverage, overlap, place, speedups

Collect = Callable[[Database], Iterable[Metric]]
PLACE = ("machine", "library", "fingerprint", "nprocs", "ppn")
_log = logging.getLogger("plumbline")

_collectors: dict[str, Collect] = {}


def collector(name: str) -> Callable[[Collect], Collect]:
    """Register a collector under a name of its own."""

    def register(collect: Collect) -> Collect:
        if name in _collectors:
            raise ValueError(f"two collectors are called {name}")
        _collectors[name] = collect
        return collect

    return register


class DatabaseCollector(Collector):
    """All collectors over one read-only connection, opened and closed at every scrape."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily(
            "plumbline_build_info", "Version of Plumbline; always 1.", labels=("version", "python")
        )
        build.add_metric((_version(), platform.python_version()), 1)
        yield build
        success = GaugeMetricFamily(
            "plumbline_scrape_success",
            "Whether a collector could read the database; 1 without series means no data.",
            labels=("collector",),
        )
        seconds = GaugeMetricFamily(
            "plumbline_scrape_duration_seconds", "Time a collector took.", labels=("collector",)
        )
        found: list[Metric] = []
        try:
            db = Database.open(self.path)
        except PlumblineError as error:
            _log.warning("%s", error)
            for name in _collectors:
                success.add_metric((name,), 0)
        else:
            with db, db.snapshot():
                for name, collect in _collectors.items():
                    started = time.perf_counter()
                    try:
                        found += collect(db)
                        success.add_metric((name,), 1)
                    except Exception as error:  # one that fails takes no other with it
                        _log.warning("collector %s: %s: %s", name, type(error).__name__, error)
                        success.add_metric((name,), 0)
                    seconds.add_metric((name,), time.perf_counter() - started)
        yield success
        yield seconds
        yield from found


@cache
def _version() -> str:
    try:
        return metadata.version("plumbline")
    except metadata.PackageNotFoundError:
        return "unknown"


_covered: WeakKeyDictionary[Database, list[Coverage]] = WeakKeyDictionary()


def _coverage(db: Database) -> list[Coverage]:
    """Read once a scrape, which has a connection of its own."""
    if db not in _covered:
        _covered[db] = coverage(db)
    return _covered[db]


def _labels(where: Place) -> tuple[str, ...]:
    return (
        where.machine,
        where.library,
        where.fingerprint,
        str(where.nprocs),
        str(where.ppn),
    )


@collector("guidelines")
def guidelines(db: Database) -> Iterator[Metric]:
    """Violations, undecided cells and the worst ratio of each guideline, before and after: of each
    cell the newest verdict, whichever campaign it is of."""
    labels = (*PLACE, "guideline", "stage")
    violations = GaugeMetricFamily(
        "plumbline_violations", "Cells that violate a guideline.", labels=labels
    )
    undecided = GaugeMetricFamily(
        "plumbline_undecided", "Cells without enough evidence for a verdict.", labels=labels
    )
    worst = GaugeMetricFamily(
        "plumbline_worst_ratio", "Largest ratio of left side over right side.", labels=labels
    )
    for covered in (*_coverage(db), *overlap(db)):
        for stage, counts in covered.counts.items():
            for guideline, count in counts.items():
                values = (*_labels(covered.place), guideline, stage)
                violations.add_metric(values, count.violations)
                undecided.add_metric(values, count.undecided)
                if count.worst_ratio is not None:
                    worst.add_metric(values, count.worst_ratio)
    yield from (violations, undecided, worst)


@collector("winners")
def winners(db: Database) -> Iterator[Metric]:
    """What the winners in use bring, by function."""
    labels = (*PLACE, "function")
    best = GaugeMetricFamily(
        "plumbline_speedup_best_ratio",
        "Default time over winner's time: the largest over the function's winners.",
        labels=labels,
    )
    middle = GaugeMetricFamily(
        "plumbline_speedup_median_ratio",
        "Default time over winner's time: the median over the function's winners.",
        labels=labels,
    )
    for covered in _coverage(db):
        for function, (largest, median) in speedups(covered.winners).items():
            best.add_metric((*_labels(covered.place), function), largest)
            middle.add_metric((*_labels(covered.place), function), median)
    yield from (best, middle)


@collector("campaigns")
def campaign_times(db: Database) -> Iterator[Metric]:
    """When a campaign was last finished."""
    success = GaugeMetricFamily(
        "plumbline_last_success_timestamp_seconds",
        "When the last finished campaign ended, in Unix time.",
        labels=PLACE,
    )
    ended: dict[Place, float] = {}
    for campaign in campaigns.all_campaigns(db):
        if campaign.state == "finished":
            where, at = place(db, campaign), _unix(campaign.finished)
            ended[where] = max(at, ended.get(where, at))
    for where, at in sorted(ended.items()):
        success.add_metric(_labels(where), at)
    yield success


@collector("coverage")
def speaking(db: Database) -> Iterator[Metric]:
    """Which campaigns speak for how many cells, since when, and whose winners are in use."""
    cells = GaugeMetricFamily(
        "plumbline_cells",
        "Distinct (function, bytes) timed by the campaigns that speak.",
        labels=PLACE,
    )
    spoken = GaugeMetricFamily(
        "plumbline_verdicts",
        "Cells whose newest verdict is of this campaign.",
        labels=(*PLACE, "campaign", "stage"),
    )
    oldest = GaugeMetricFamily(
        "plumbline_oldest_verdict_timestamp_seconds",
        "When the oldest verdict that still speaks was found, in Unix time.",
        labels=(*PLACE, "stage"),
    )
    finished = GaugeMetricFamily(
        "plumbline_campaign_finished_timestamp_seconds",
        "When a campaign that speaks was finished, in Unix time.",
        labels=(*PLACE, "campaign"),
    )
    in_use = GaugeMetricFamily(
        "plumbline_winners",
        "Winners of the campaign whose winners are in use.",
        labels=(*PLACE, "campaign"),
    )
    for covered in _coverage(db):
        labels = _labels(covered.place)
        cells.add_metric(labels, cost.cells(db, [campaign.id for campaign in covered.speaking]))
        for stage, shares in covered.shares.items():
            for share in shares:
                spoken.add_metric((*labels, share.campaign.id, stage), share.verdicts)
            oldest.add_metric((*labels, stage), min(_unix(share.measured) for share in shares))
        for campaign in covered.speaking:
            if campaign.state == "finished":
                finished.add_metric((*labels, campaign.id), _unix(campaign.finished))
        if covered.in_force is not None:
            in_use.add_metric((*labels, covered.in_force.id), len(covered.winners))
    yield from (cells, spoken, oldest, finished, in_use)


@collector("cost")
def totals(db: Database) -> Iterator[Metric]:
    """Launches and seconds of all campaigns together."""
    launches = CounterMetricFamily("plumbline_launches", "Launches, failed ones too.", labels=PLACE)
    failed = CounterMetricFamily("plumbline_launches_failed", "Launches that failed.", labels=PLACE)
    seconds = CounterMetricFamily(
        "plumbline_launch_seconds", "Wall time of all launches.", labels=PLACE
    )
    timed = CounterMetricFamily(
        "plumbline_timed_seconds", "Time inside timed regions.", labels=PLACE
    )
    spent: dict[Place, list[cost.Cost]] = {}
    for campaign in campaigns.all_campaigns(db):
        spent.setdefault(place(db, campaign), []).append(cost.cost(db, campaign.id))
    for where, parts in sorted(spent.items()):
        launches.add_metric(_labels(where), sum(part.launches for part in parts))
        failed.add_metric(_labels(where), sum(part.failed for part in parts))
        seconds.add_metric(_labels(where), sum(part.seconds for part in parts))
        timed.add_metric(_labels(where), sum(part.timed_seconds for part in parts))
    yield from (launches, failed, seconds, timed)


@collector("places")
def places(db: Database) -> Iterator[Metric]:
    """The long names behind the labels."""
    machine = GaugeMetricFamily(
        "plumbline_machine_info", "A machine; always 1.", labels=("machine", "host", "cpu_model")
    )
    library = GaugeMetricFamily(
        "plumbline_library_info",
        "An MPI library; always 1.",
        labels=("library", "family", "version", "fingerprint"),
    )
    those: list[Coverage] = [*_coverage(db), *overlap(db)]
    for found in {covered.machine.id: covered.machine for covered in those}.values():
        machine.add_metric((found.id, found.host, found.cpu_model), 1)
    for known in {covered.library.fingerprint: covered.library for covered in those}.values():
        library.add_metric((known.id, known.family, known.version, known.fingerprint), 1)
    yield from (machine, library)


def _unix(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
