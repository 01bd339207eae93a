"""Batches: the campaigns of one campaign file, in the order of the file. A batch is known by the
file's absolute path; a file that is edited makes its batch anew."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline_db import campaigns, columns
from plumbline_db.records import Campaign
from plumbline_db.statements import Statements


def put(db: Statements, name: str, members: Sequence[str], written: str) -> None:
    """`members` are ids of campaigns; they replace those that the batch had. `written` is now, as
    ISO 8601 in UTC. Raises ValueError when a member is not stored."""
    with db.transaction():
        for member in members:
            campaigns.require(db, member)
        db.rows("DELETE FROM batch WHERE name = :name", {"name": name})
        rows = [
            {"name": name, "position": position, "campaign": member, "written": written}
            for position, member in enumerate(members)
        ]
        columns.put_rows(db, "batch", rows)


def get(db: Statements, name: str) -> list[Campaign]:
    """Empty where there is no such batch."""
    members = db.rows(
        "SELECT campaign FROM batch WHERE name = :name ORDER BY position", {"name": name}
    )
    return [campaigns.get(db, member) for (member,) in members]


def of(db: Statements, campaign: str) -> str | None:
    """The batch that `campaign` belongs to; of several, the one written last."""
    row = db.row(
        """SELECT name FROM batch WHERE campaign = :campaign
           ORDER BY written DESC, name DESC LIMIT 1""",
        {"campaign": campaign},
    )
    return None if row is None else str(row[0])
