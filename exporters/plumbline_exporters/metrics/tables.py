"""The age of tables, how much of what is known they cover, and how noisy they are."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline_exporters.metrics.scrape import PLACE, Scrape, collector, labels, unix


@collector("tables")
def tables(scrape: Scrape) -> Iterator[Metric]:
    """Return the table metrics of campaigns: guidelines of `plumbline overlap tune` have no full
    tables."""
    names = (*PLACE, "stage")
    cells = GaugeMetricFamily(
        "plumbline_table_cells", "Cells of guidelines that have a verdict.", labels=names
    )
    share = GaugeMetricFamily(
        "plumbline_newest_table_coverage_ratio",
        "Share of these cells that the newest table has.",
        labels=names,
    )
    newest = GaugeMetricFamily(
        "plumbline_newest_table_timestamp_seconds",
        "When the newest table was measured, however small it is, in Unix time.",
        labels=names,
    )
    full = GaugeMetricFamily(
        "plumbline_full_table_timestamp_seconds",
        "When the newest table was measured that has nine of ten of these cells, in Unix time.",
        labels=names,
    )
    oldest = GaugeMetricFamily(
        "plumbline_oldest_verdict_timestamp_seconds",
        "When the oldest verdict that still speaks was found, in Unix time.",
        labels=names,
    )
    noise = GaugeMetricFamily(
        "plumbline_noise_ratio",
        "Median over these cells of half the width of the ratio's interval over the ratio.",
        labels=names,
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
    timed = GaugeMetricFamily(
        "plumbline_cells",
        "Distinct (function, bytes) timed by the campaigns that speak.",
        labels=PLACE,
    )
    spoken = GaugeMetricFamily(
        "plumbline_verdicts",
        "Cells whose newest verdict is of this campaign.",
        labels=(*PLACE, "campaign", "stage"),
    )
    finished = GaugeMetricFamily(
        "plumbline_campaign_finished_timestamp_seconds",
        "When a campaign that speaks was finished, in Unix time.",
        labels=(*PLACE, "campaign"),
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
