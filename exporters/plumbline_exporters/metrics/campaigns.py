"""The times at which campaigns ended, and how those are getting on that did not."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric

from plumbline_db.coverage import Place
from plumbline_db.records import Campaign
from plumbline_exporters.metrics.labels import PLACE, labels, unix
from plumbline_exporters.metrics.scrape import Scrape, collector


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
    """Return that of each place the campaign that was begun last, where it has not ended: it runs,
    or waits for somebody to go on with it. The time of its newest launch tells which."""
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
