"""Files that were handed out for a campaign, with their checksums."""

from __future__ import annotations

from plumbline_db import campaigns, columns
from plumbline_db.records import Export
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, export: Export) -> None:
    """Store; a path that was written before gets its new content's checksum."""
    with db.transaction():
        campaigns.require(db, campaign)
        changed = f"ON CONFLICT (campaign, path) DO UPDATE SET {columns.renewed(Export, 'path')}"
        columns.put(db, "export", export, changed, campaign=campaign)


def forget(db: Statements, campaign: str, path: str) -> None:
    """The file at `path` is no longer what this campaign hands out."""
    with db.transaction():
        db.rows(
            "DELETE FROM export WHERE campaign = :campaign AND path = :path",
            {"campaign": campaign, "path": path},
        )


def get(db: Statements, campaign: str) -> list[Export]:
    """Return them by path."""
    where = "WHERE campaign = :campaign ORDER BY path"
    return columns.all_of(db, "export", Export, where, {"campaign": campaign})
