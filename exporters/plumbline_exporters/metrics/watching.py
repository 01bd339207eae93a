"""Metrics of `plumbline watch`: its last step, whether it waits, what it has spent of its budget;
the cells that it watches, its alarms, and the searches that they opened. Its counters are those of
the day (UTC), and begin again at 0 with each: what is older is pruned, and a sum that shrinks a
little would be taken for a restart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import msgspec
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
)

from plumbline_db import watching
from plumbline_db.records import Campaign
from plumbline_db.watching import CellAlarm, Watch, WatchDay, WatchedCampaign
from plumbline_exporters.metrics.scrape import Scrape, collector, gauge, labels, unix

STEPS = ("campaign", "confirm", "canary", "recheck", "search", "wait")
_SINCE = ", since 00:00 UTC."


class _Neighbour(msgspec.Struct, frozen=True):
    node_seconds_a_day: float | None = None
    node_seconds_a_week: float | None = None


class _Configuration(msgspec.Struct, frozen=True):
    """The part of it that is told."""

    neighbour: _Neighbour = _Neighbour()


@collector("watch")
def watch(scrape: Scrape) -> Iterator[Metric]:
    """The daemon, as it last said."""
    daemon = watching.get(scrape.db)
    if daemon is None:
        return
    yield InfoMetricFamily("plumbline_watch", "The daemon; always 1.", {"host": daemon.host})
    yield StateSetMetricFamily(
        "plumbline_watch_step",
        "The step that ended last.",
        value={step: step == daemon.step for step in STEPS},
    )
    yield GaugeMetricFamily(
        "plumbline_watch_running",
        "Whether it runs, as it said last; the time of its last step says more.",
        value=daemon.state == "running",
    )
    yield GaugeMetricFamily(
        "plumbline_watch_waiting",
        "Whether it may measure nothing now.",
        value=bool(daemon.waits_for),
    )
    yield GaugeMetricFamily(
        "plumbline_watch_configuration_refused",
        "Whether its configuration was changed and not taken.",
        value=bool(daemon.refused),
    )
    yield from _times(daemon)


def _times(daemon: Watch) -> Iterator[Metric]:
    """Return the metrics of the times that are known."""
    for name, what, time in (
        ("started", "When it was started", daemon.started),
        ("stepped", "When its last step ended", daemon.stepped),
        ("failed", "When a step failed last", daemon.failed),
        ("next_canary", "When the next canary is due", daemon.next_canary),
        ("configuration_read", "When its configuration was read", daemon.read),
    ):
        if time:
            yield GaugeMetricFamily(
                f"plumbline_watch_{name}_timestamp_seconds",
                f"{what}, in Unix time.",
                value=unix(time),
            )


@collector("watch_days")
def days(scrape: Scrape) -> Iterator[Metric]:
    """Return what it did today, and what it may spend."""
    daemon = watching.get(scrape.db)
    if daemon is None:
        return
    date = scrape.now.date()
    last_days = watching.days(scrape.db, (date - timedelta(days=6)).isoformat())
    today = next((day for day in last_days if day.day == date.isoformat()), WatchDay(""))
    canaries = CounterMetricFamily(
        "plumbline_watch_canaries",
        f"Canaries that were judged, that said nothing (busy), that were due and missed{_SINCE}",
        labels=("outcome",),
    )
    for outcome, count in (
        ("judged", today.canaries),
        ("busy", today.busy),
        ("missed", today.missed),
    ):
        canaries.add_metric((outcome,), count)
    yield canaries
    yield CounterMetricFamily(
        "plumbline_watch_errors", f"Steps that failed{_SINCE}", value=today.errors
    )
    yield CounterMetricFamily(
        "plumbline_watch_pruned_launches",
        f"Launches of old canaries that were removed{_SINCE}",
        value=today.pruned_launches,
    )
    spent = GaugeMetricFamily(
        "plumbline_watch_node_seconds",
        "Node-seconds of its launches: of this day (UTC), and of it and the six before.",
        labels=("period",),
    )
    spent.add_metric(("day",), today.node_seconds)
    spent.add_metric(("week",), sum(day.node_seconds for day in last_days))
    yield spent
    yield _budget(daemon)


def _budget(daemon: Watch) -> Metric:
    budget = GaugeMetricFamily(
        "plumbline_watch_budget_node_seconds", "The most that may be spent.", labels=("period",)
    )
    limits = msgspec.json.decode(daemon.configuration or b"{}", type=_Configuration).neighbour
    for period, limit in (
        ("day", limits.node_seconds_a_day),
        ("week", limits.node_seconds_a_week),
    ):
        if limit is not None:
            budget.add_metric((period,), limit)
    return budget


@collector("notices")
def told(scrape: Scrape) -> Iterator[Metric]:
    """Messages of the last 24 hours."""
    if watching.get(scrape.db) is None:
        return
    messages = GaugeMetricFamily(
        "plumbline_notices", "Messages of the last 24 hours.", labels=("way", "state")
    )
    since = (scrape.now - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    notices = [(notice.way, notice.state) for notice in watching.told(scrape.db, since)]
    for way in ("command", "webhook"):
        for state in ("sent", "failed", "held back"):
            messages.add_metric((way, state), notices.count((way, state)))
    yield messages


DIRECTIONS = ("slower", "faster")
OPEN = ("raised", "confirmed", "searching")
ROLES = ("winner", "violation", "application", "reference")
RETUNINGS = (
    "searching", "nothing better", "offered", "applied", "kept", "rolled back", "failed",
)  # fmt: skip


def _watched(scrape: Scrape) -> Iterator[tuple[tuple[str, ...], WatchedCampaign]]:
    """Return each watched campaign with the values of its labels."""
    campaign_by_id: dict[str, Campaign] = {campaign.id: campaign for campaign in scrape.campaigns}
    for watched_campaign in watching.watched(scrape.db):
        if watched_campaign.campaign in campaign_by_id:
            yield (
                (
                    *labels(scrape.place(campaign_by_id[watched_campaign.campaign])),
                    watched_campaign.campaign,
                ),
                watched_campaign,
            )


@collector("watched")
def watched(scrape: Scrape) -> Iterator[Metric]:
    """The campaigns whose cells are watched, and how current that is."""
    cells = gauge("plumbline_watched_cells", "Cells that are watched, by why.", "campaign", "role")
    worst = gauge(
        "plumbline_watched_worst_ratio",
        "Largest ratio of a cell's time in its last canary to what was learnt, by why it is "
        "watched.",
        "campaign",
        "role",
    )
    canary = gauge(
        "plumbline_newest_canary_timestamp_seconds",
        "When the newest canary that was judged ended, in Unix time.",
        "campaign",
    )
    disturbance = gauge(
        "plumbline_canary_disturbance_ratio",
        "How wide the noise of the last canary was, by what it usually stays below; above 1 it "
        "says nothing.",
        "campaign",
    )
    stale = gauge(
        "plumbline_table_stale",
        "Whether the table is not of what is there now: library, kernel, files in force.",
        "campaign",
    )
    generation = gauge(
        "plumbline_watched_generation",
        "Generation of plumbline apply that was in force when cells were learnt; 0: none.",
        "campaign",
    )
    for values, watched_campaign in _watched(scrape):
        stale.add_metric(values, bool(watched_campaign.stale))
        generation.add_metric(values, watched_campaign.generation)
        cells_watched = watching.cells(scrape.db, watched_campaign.campaign)
        for role in ROLES:
            ratios = [cell.ratio for cell in cells_watched if cell.role == role]
            cells.add_metric((*values, role), len(ratios))
            if ratios:
                worst.add_metric((*values, role), max(ratios))
        last = [
            one_canary
            for _, one_canary in watching.canaries(scrape.db, watched_campaign.campaign, last=50)
        ]
        judged = [
            one_canary
            for one_canary in last
            if one_canary.outcome == "judged" and one_canary.finished
        ]
        if judged:
            canary.add_metric(values, unix(judged[-1].finished))
        noises = [
            one_canary.disturbance for one_canary in last if one_canary.disturbance is not None
        ]
        if noises:
            disturbance.add_metric(values, noises[-1])
    yield from (cells, worst, canary, disturbance, stale, generation)


@collector("regressions")
def regressions(scrape: Scrape) -> Iterator[Metric]:
    """A cell that stays slower, as nothing better was found, is none any more: it is learnt
    anew."""
    changes = gauge(
        "plumbline_regressions",
        "Cells that may have changed (raised), have changed (confirmed), are searched.",
        "campaign",
        "direction",
        "state",
    )
    worst = gauge(
        "plumbline_regression_worst_ratio",
        "Of these the largest change, now over before, by function.",
        "campaign",
        "function",
        "direction",
    )
    searches = gauge(
        "plumbline_retunings", "Searches that a change has opened, by what became of them.",
        "campaign", "state",
    )  # fmt: skip
    newest = gauge(
        "plumbline_regression_found_timestamp_seconds",
        "When the newest change was found that was not refuted, in Unix time.",
        "campaign",
    )
    for values, watched_campaign in _watched(scrape):
        every = [alarm for _, alarm in watching.every(scrape.db, watched_campaign.campaign)]
        counts: Counter[tuple[str, str]] = Counter(
            (alarm.direction, alarm.state) for alarm in every if alarm.is_open
        )
        for direction in DIRECTIONS:
            for state in OPEN:
                changes.add_metric((*values, direction, state), counts[direction, state])
        for (function, direction), ratio in _worst(every).items():
            worst.add_metric((*values, function, direction), ratio)
        real = [unix(alarm.found) for alarm in every if alarm.state not in ("raised", "refuted")]
        if real:
            newest.add_metric(values, max(real))
        became: Counter[str] = Counter(
            search.state for _, search in watching.retunings(scrape.db, watched_campaign.campaign)
        )
        for state in RETUNINGS:
            searches.add_metric((*values, state), became[state])
    yield from (changes, worst, newest, searches)


def _worst(every: list[CellAlarm]) -> dict[tuple[str, str], float]:
    """Return the worst ratio of open alarms, by function and direction."""
    worst_by_function: dict[tuple[str, str], float] = {}
    for alarm in every:
        if alarm.is_open:
            key = (alarm.function, alarm.direction)
            pick = max if alarm.direction == "slower" else min
            worst_by_function[key] = pick(alarm.ratio, worst_by_function.get(key, alarm.ratio))
    return worst_by_function
