"""Files that were handed out for a campaign, with their checksums."""

from __future__ import annotations

import msgspec

from plumbline_db import campaigns
from plumbline_db.records import Export
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, export: Export) -> None:
    """Store; a path that was written before gets its new content's checksum."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows(
            """INSERT INTO export (campaign, path, format, sha256, created)
               VALUES (:campaign, :path, :format, :sha256, :created)
               ON CONFLICT (campaign, path) DO UPDATE
               SET format = :format, sha256 = :sha256, created = :created""",
            msgspec.structs.asdict(export) | {"campaign": campaign},
        )


def forget(db: Statements, campaign: str, path: str) -> None:
    """The file at `path` is no longer what this campaign hands out."""
    with db.transaction():
        db.rows(
            "DELETE FROM export WHERE campaign = :campaign AND path = :path",
            {"campaign": campaign, "path": path},
        )


def get(db: Statements, campaign: str) -> list[Export]:
    """By path."""
    return [
        Export(*row)
        for row in db.rows(
            """SELECT format, path, sha256, created FROM export
               WHERE campaign = :campaign ORDER BY path""",
            {"campaign": campaign},
        )
    ]
