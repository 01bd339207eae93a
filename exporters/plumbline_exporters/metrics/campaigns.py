"""The times at which campaigns ended, and how those are getting on that did not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from plumbline_db import way_back
from plumbline_db.coverage import Place
from plumbline_db.records import Campaign
from plumbline_exporters.metrics.scrape import PLACE, Scrape, collector, labels, unix


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


@collector("places")
def places(scrape: Scrape) -> Iterator[Metric]:
    """Return the metrics of each machine and library that is stored."""
    machine = InfoMetricFamily(
        "plumbline_machine", "A machine; always 1.", labels=("machine", "host")
    )
    library = InfoMetricFamily(
        "plumbline_library", "An MPI library; always 1.", labels=("library", "fingerprint")
    )
    for machine_stored in scrape.machines.values():
        machine.add_metric(
            (machine_stored.id, machine_stored.host), {"cpu_model": machine_stored.cpu_model}
        )
    for library_stored in scrape.libraries.values():
        if library_stored.fingerprint in scrape.left_out:
            continue
        words = {"family": library_stored.family, "version": library_stored.version}
        library.add_metric((library_stored.id, library_stored.fingerprint), words)
    yield from (machine, library)


@collector("campaigns")
def campaign_times(scrape: Scrape) -> Iterator[Metric]:
    """Return when a campaign was last finished."""
    success = GaugeMetricFamily(
        "plumbline_last_success_timestamp_seconds",
        "When the last finished campaign ended, in Unix time.",
        labels=PLACE,
    )
    ended: dict[Place, float] = {}
    for campaign in scrape.campaigns:
        if campaign.state == "finished":
            where, at = scrape.place(campaign), unix(campaign.finished)
            ended[where] = max(at, ended.get(where, at))
    for where, at in sorted(ended.items()):
        success.add_metric(labels(where), at)
    yield success


@collector("under_way")
def under_way(scrape: Scrape) -> Iterator[Metric]:
    """Return the campaign of each place that was begun last, if it has not ended: it runs, or waits
    for somebody to continue it. The time of its newest launch tells which."""
    names = (*PLACE, "campaign")
    started = GaugeMetricFamily(
        "plumbline_campaign_started_timestamp_seconds",
        "When the campaign that is under way was begun, in Unix time.",
        labels=names,
    )
    launches = GaugeMetricFamily(
        "plumbline_campaign_launches", "Launches so far of the campaign under way.", labels=names
    )
    newest = GaugeMetricFamily(
        "plumbline_campaign_newest_launch_timestamp_seconds",
        "When the newest launch of the campaign under way began, in Unix time.",
        labels=names,
    )
    last: dict[Place, Campaign] = {}
    for campaign in scrape.campaigns:
        last[scrape.place(campaign)] = campaign
    for where, campaign in sorted(last.items(), key=lambda item: item[0]):
        if campaign.state == "finished":
            continue
        values = (*labels(where), campaign.id)
        spent = scrape.spent.get(campaign.id, [])
        started.add_metric(values, unix(campaign.started))
        launches.add_metric(values, sum(spending.launches for spending in spent))
        if spent:
            newest.add_metric(values, max(unix(spending.newest) for spending in spent))
    yield from (started, launches, newest)
