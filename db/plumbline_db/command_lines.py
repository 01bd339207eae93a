"""The command that a user typed for a campaign, and the one that continues it."""

from __future__ import annotations

from plumbline_db import campaigns
from plumbline_db.errors import typed
from plumbline_db.records import Campaign
from plumbline_db.statements import Statements


def put(db: Statements, campaign: str, line: str) -> None:
    """Store the newest command line of a campaign."""
    with db.transaction():
        campaigns.require(db, campaign)
        db.rows(
            "INSERT INTO command_line (campaign, line) VALUES (:campaign, :line) "
            "ON CONFLICT (campaign) DO UPDATE SET line = :line",
            {"campaign": campaign, "line": line},
        )


def get(db: Statements, campaign: str) -> str:
    """Return the command line; empty where none is known, as of an imported campaign."""
    line_row = db.row("SELECT line FROM command_line WHERE campaign = :id", {"id": campaign})
    return "" if line_row is None else str(line_row[0])


def to_continue(db: Statements, campaign: Campaign) -> str:
    """Return a sentence about how an unfinished campaign is continued."""
    line = get(db, campaign.id)
    begun = f" (it was begun by `{line}`)" if line else ""
    return f"`{typed('campaign', '--continue', campaign.id)}` continues it{begun}"
