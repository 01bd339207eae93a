"""Whether the daemon may measure now: windows, budget, load of the host. `why_not` is pure; what it
judges is asked of the kernel."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from plumbline.daemon.configuration import Configuration, Neighbour
from plumbline.settings import Settings
from plumbline.system.machine import processing_units
from plumbline_db.watch_records import WatchDay


class Seen(msgspec.Struct, frozen=True):
    """`closed`: why windows forbid it; `load` a processing unit (None: ranks run elsewhere);
    node-seconds of today and of the last seven days, this one too."""

    closed: str
    load: float | None
    today_seconds: float
    week_seconds: float


def why_not(limits: Neighbour, seen: Seen) -> str:
    """Return why nothing is measured now, for people; "": it may be."""
    if seen.closed:
        return seen.closed
    for spent, limit, when in (
        (seen.today_seconds, limits.node_seconds_a_day, "today"),
        (seen.week_seconds, limits.node_seconds_a_week, "in the last seven days"),
    ):
        if spent >= limit:
            return f"{spent:.0f} node-seconds were used {when}, of {limit:.0f}"
    if seen.load is not None and seen.load > limits.load:
        return f"the load is {seen.load:.2f} a processing unit, and {limits.load:.2f} the most"
    return ""


def look(
    configuration: Configuration, settings: Settings, days: Sequence[WatchDay], now: datetime
) -> Seen:
    """Return what there is to judge."""
    here = settings.ranks.place is None
    today = now.date().isoformat()
    since = (now - timedelta(days=6)).date().isoformat()
    return Seen(
        closed=configuration.schedule.times.closed(now),
        load=os.getloadavg()[0] / processing_units() if here else None,
        today_seconds=sum(day.node_seconds for day in days if day.day == today),
        week_seconds=sum(day.node_seconds for day in days if since <= day.day <= today),
    )
