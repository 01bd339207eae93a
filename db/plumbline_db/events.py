"""Things worth remembering about a campaign, in the order in which they happened."""

from __future__ import annotations

import msgspec

from plumbline_db import campaigns, columns
from plumbline_db.records import Event
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, event: Event) -> None:
    """Kept once, also when a campaign is replayed: an event that differs from one that is there in
    nothing but its time is that one."""
    with db.transaction():
        campaigns.require(db, campaign)
        if any(
            msgspec.structs.replace(stored, time=event.time) == event
            for stored in get(db, campaign)
        ):
            return
        columns.put(db, "event", event, campaign=campaign)


def get(db: Statements, campaign: str) -> list[Event]:
    where = "WHERE campaign = :campaign ORDER BY number"
    return columns.all_of(db, "event", Event, where, {"campaign": campaign})
