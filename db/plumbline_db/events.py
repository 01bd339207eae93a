"""Things worth remembering about a campaign, in the order in which they happened."""

from __future__ import annotations

import msgspec

from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.records import Event


def put(db: Database, campaign: str, event: Event) -> None:
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows(
            """INSERT INTO event (campaign, time, kind, text)
               VALUES (:campaign, :time, :kind, :text)""",
            msgspec.structs.asdict(event) | {"campaign": campaign},
        )


def get(db: Database, campaign: str) -> list[Event]:
    return [
        Event(*row)
        for row in db.rows(
            "SELECT time, kind, text FROM event WHERE campaign = :campaign ORDER BY number",
            {"campaign": campaign},
        )
    ]
