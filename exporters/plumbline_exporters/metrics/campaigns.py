"""Metrics of campaigns: when they ended, and how those are getting on that did not; violations of
each guideline, before and after, of each cell the newest verdict, and what has changed since the
full table before; launches and seconds, and what went wrong in them; the age, coverage and noise of
tables; the gains of the winners in use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

from plumbline_db import backups, findings
from plumbline_db.cost import Spending
from plumbline_db.coverage import Place
from plumbline_db.records import Campaign, FailureKind
from plumbline_exporters.metrics.scrape import PLACE, Scrape, collector, gauge, labels, unix


@collector("database")
def database(scrape: Scrape) -> Iterator[Metric]:
    path = scrape.db.path
    log = path.with_name(path.name + "-wal")
    size = GaugeMetricFamily("plumbline_database_size_bytes", "Size of a file.", labels=("part",))
    size.add_metric(("file",), path.stat().st_size)
    size.add_metric(("log",), _bytes_of(log))
    yield size
    backup = backups.newest_backup(path)
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
    success = gauge(
        "plumbline_last_success_timestamp_seconds",
        "When the last finished campaign ended, in Unix time.",
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
    started = gauge(
        "plumbline_campaign_started_timestamp_seconds",
        "When the campaign that is under way was begun, in Unix time.",
        "campaign",
    )
    launches = gauge(
        "plumbline_campaign_launches", "Launches so far of the campaign under way.", "campaign"
    )
    newest = gauge(
        "plumbline_campaign_newest_launch_timestamp_seconds",
        "When the newest launch of the campaign under way began, in Unix time.",
        "campaign",
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


@collector("guidelines")
def guidelines(scrape: Scrape) -> Iterator[Metric]:
    names = ("guideline", "stage")
    violations = gauge(
        "plumbline_violations",
        "Cells that violate a guideline in every way of use that was measured.",
        *names,
    )
    in_some_uses = gauge(
        "plumbline_violations_in_some_uses",
        "Cells that violate a guideline in some ways of use only.",
        *names,
    )
    undecided = gauge("plumbline_undecided", "Cells without enough evidence for a verdict.", *names)
    worst = gauge("plumbline_worst_ratio", "Largest ratio of left side over right side.", *names)
    new = gauge(
        "plumbline_violations_new",
        "Cells that held in the last full table before the newest one, and are violated now.",
        *names,
    )
    gone = gauge(
        "plumbline_violations_gone",
        "Cells that were violated in the last full table before the newest one, and hold now.",
        *names,
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


@collector("launches")
def totals(scrape: Scrape) -> Iterator[Metric]:
    launches = CounterMetricFamily("plumbline_launches", "Launches, failed ones too.", labels=PLACE)
    failed = CounterMetricFamily(
        "plumbline_launches_failed", "Launches that failed, by how.", labels=(*PLACE, "failure")
    )
    seconds = CounterMetricFamily(
        "plumbline_launch_seconds", "Wall time of all launches.", labels=PLACE
    )
    timed = CounterMetricFamily(
        "plumbline_timed_seconds", "Time inside timed regions.", labels=PLACE
    )
    wrong = CounterMetricFamily(
        "plumbline_wrong_results",
        "Wrong results of the library, as it is or with exported files in force.",
        labels=PLACE,
    )
    for where, parts in sorted(_by_place(scrape).items()):
        values = labels(where)
        launches.add_metric(values, sum(part.launches for part in parts))
        seconds.add_metric(values, sum(part.seconds for part in parts))
        timed.add_metric(values, sum(part.timed_seconds for part in parts))
        wrong.add_metric(values, sum(part.wrong for part in parts))
        for kind in get_args(FailureKind):
            count = sum(part.launches for part in parts if part.failure == kind)
            failed.add_metric((*values, kind), count)
    yield from (launches, failed, seconds, timed, wrong)


def _by_place(scrape: Scrape) -> dict[Place, list[Spending]]:
    spendings_by_place: dict[Place, list[Spending]] = {}
    for campaign in scrape.campaigns:
        parts = spendings_by_place.setdefault(scrape.place(campaign), [])
        parts += scrape.spent.get(campaign.id, [])
    return spendings_by_place


@collector("tables")
def tables(scrape: Scrape) -> Iterator[Metric]:
    """Return the table metrics of campaigns: guidelines of `plumbline overlap tune` have no full
    tables."""
    cells = gauge("plumbline_table_cells", "Cells of guidelines that have a verdict.", "stage")
    share = gauge(
        "plumbline_newest_table_coverage_ratio",
        "Share of these cells that the newest table has.",
        "stage",
    )
    newest = gauge(
        "plumbline_newest_table_timestamp_seconds",
        "When the newest table was measured, however small it is, in Unix time.",
        "stage",
    )
    full = gauge(
        "plumbline_full_table_timestamp_seconds",
        "When the newest table was measured that has nine of ten of these cells, in Unix time.",
        "stage",
    )
    oldest = gauge(
        "plumbline_oldest_verdict_timestamp_seconds",
        "When the oldest verdict that still speaks was found, in Unix time.",
        "stage",
    )
    noise = gauge(
        "plumbline_noise_ratio",
        "Median over these cells of half the width of the ratio's interval over the ratio.",
        "stage",
    )
    for covered in scrape.coverage:
        for stage, of_stage in covered.stages.items():
            values = (*labels(covered.place), stage)
            cells.add_metric(values, of_stage.cells)
            share.add_metric(values, of_stage.newest_cells / of_stage.cells)
            newest.add_metric(values, unix(of_stage.newest_measured))
            oldest.add_metric(values, min(unix(share.measured) for share in of_stage.shares))
            if of_stage.whole is not None:
                full.add_metric(values, unix(of_stage.whole_measured))
            if of_stage.noise is not None:
                noise.add_metric(values, of_stage.noise)
    yield from (cells, share, newest, full, oldest, noise)


@collector("coverage")
def coverage(scrape: Scrape) -> Iterator[Metric]:
    """Return which campaigns speak for how many cells, and since when."""
    timed = gauge(
        "plumbline_cells", "Distinct (function, bytes) timed by the campaigns that speak."
    )
    spoken = gauge(
        "plumbline_verdicts", "Cells whose newest verdict is of this campaign.", "campaign", "stage"
    )
    finished = gauge(
        "plumbline_campaign_finished_timestamp_seconds",
        "When a campaign that speaks was finished, in Unix time.",
        "campaign",
    )
    ended = {
        campaign.id: campaign.finished
        for campaign in scrape.campaigns
        if campaign.state == "finished"
    }
    for covered in scrape.coverage:
        where = labels(covered.place)
        timed.add_metric(where, covered.timed_cells)
        for stage, of_stage in covered.stages.items():
            for share in of_stage.shares:
                spoken.add_metric((*where, share.campaign, stage), share.verdicts)
        for campaign in covered.speaking:
            if campaign in ended:
                finished.add_metric((*where, campaign), unix(ended[campaign]))
    yield from (timed, spoken, finished)


@collector("winners")
def winners(scrape: Scrape) -> Iterator[Metric]:
    best = gauge(
        "plumbline_speedup_best_ratio",
        "Default time over winner's time: the largest over the function's winners.",
        "function",
    )
    middle = gauge(
        "plumbline_speedup_median_ratio",
        "Default time over winner's time: the median over the function's winners.",
        "function",
    )
    in_use = gauge(
        "plumbline_winners", "Winners of the campaign whose winners are in use.", "campaign"
    )
    for covered in scrape.coverage:
        if covered.in_force is None:
            continue
        where = labels(covered.place)
        speedups = findings.speedups(scrape.db, covered.in_force)
        in_use.add_metric((*where, covered.in_force), sum(map(len, speedups.values())))
        for function, values in speedups.items():
            best.add_metric((*where, function), max(values))
            middle.add_metric((*where, function), median(values))
    yield from (best, middle, in_use)
