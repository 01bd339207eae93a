"""The state of `plumbline watch` itself: its last step, whether it waits, what it has spent of its
budget.

Its counters are those of the day (UTC), and begin again at 0 with each: what is older is pruned,
and a sum that shrinks a little would be taken for a restart."""

from __future__ import annotations

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
from plumbline_db.watching import Watch, WatchDay
from plumbline_exporters.metrics.scrape import Scrape, collector, unix

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
