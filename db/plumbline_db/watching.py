"""What `plumbline watch` is doing, which campaigns and cells it watches, and its canaries. Alarms
and what was done about them are in alarms.py, what was told of them in notices.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plumbline_db import campaigns, columns
from plumbline_db.records import CANARY
from plumbline_db.statements import Statements
from plumbline_db.watch_records import Canary, Watch, WatchDay, WatchedCampaign, WatchedCell

# --- the daemon itself -------------------------------------------------------------------------


def put(db: Statements, watch: Watch) -> None:
    """In the place of what another daemon has said, or this one before."""
    with db.transaction():
        db.rows("DELETE FROM watch")
        db.rows(columns.insert("watch", Watch), columns.values(watch))


def get(db: Statements) -> Watch | None:
    """None: nothing was ever watched here."""
    row = db.row(columns.select("watch", Watch))
    return None if row is None else columns.read(Watch, row)


def add(db: Statements, day: WatchDay) -> None:
    """Adds what has come to that day."""
    with db.transaction():
        count(db, day)


def count(db: Statements, day: WatchDay) -> None:
    """The same inside the caller's transaction."""
    numbers = [name for name in WatchDay.__struct_fields__ if name != "day"]
    more = ", ".join(f"{name} = {name} + excluded.{name}" for name in numbers)
    db.rows(
        columns.insert("watch_day", WatchDay) + f"ON CONFLICT (day) DO UPDATE SET {more}",
        columns.values(day),
    )


def days(db: Statements, since: str = "") -> list[WatchDay]:
    """From that day on (`2026-11-24`), in their order."""
    select = columns.select("watch_day", WatchDay) + "WHERE day >= :since ORDER BY day"
    return [columns.read(WatchDay, row) for row in db.rows(select, {"since": since})]


# --- what is watched ---------------------------------------------------------------------------


def put_campaign(db: Statements, watched: WatchedCampaign) -> None:
    """Store, or replace what is known of it."""
    with db.transaction():
        campaigns.require(db, watched.campaign)
        db.rows("DELETE FROM watched_campaign WHERE campaign = :id", {"id": watched.campaign})
        db.rows(
            columns.insert("watched_campaign", WatchedCampaign),
            columns.values(watched),
        )


def watched(db: Statements) -> list[WatchedCampaign]:
    """In the order in which they began to be watched."""
    found = db.rows(
        columns.select("watched_campaign", WatchedCampaign) + "ORDER BY begun, campaign"
    )
    return [columns.read(WatchedCampaign, row) for row in found]


def campaign(db: Statements, id: str) -> WatchedCampaign | None:
    return next((found for found in watched(db) if found.campaign == id), None)


def counted(db: Statements, campaign: str, canaries: int) -> None:
    """So many canaries of it were begun; inside the caller's transaction."""
    db.rows(
        "UPDATE watched_campaign SET canaries = :canaries WHERE campaign = :campaign",
        {"campaign": campaign, "canaries": canaries},
    )


def cells(db: Statements, campaign: str) -> list[WatchedCell]:
    """By function, variant and size."""
    where = "WHERE campaign = :campaign ORDER BY function, variant, bytes"
    found = db.rows(columns.select("watched_cell", WatchedCell) + where, {"campaign": campaign})
    return [columns.read(WatchedCell, row) for row in found]


def put_cells(db: Statements, cells: Iterable[WatchedCell]) -> None:
    """Store, or replace; inside the caller's transaction."""
    for cell in cells:
        db.rows(
            columns.insert("watched_cell", WatchedCell).replace("INSERT", "INSERT OR REPLACE", 1),
            columns.values(cell),
        )


def forget_cells(db: Statements, campaign: str, gone: Sequence[WatchedCell]) -> None:
    """These are watched no more; inside the caller's transaction."""
    for cell in gone:
        db.rows(
            """DELETE FROM watched_cell WHERE campaign = :campaign AND function = :function
               AND variant = :variant AND bytes = :bytes""",
            {
                "campaign": campaign,
                "function": cell.function,
                "variant": cell.variant,
                "bytes": cell.bytes,
            },
        )


# --- canaries ----------------------------------------------------------------------------------


def begin(db: Statements, canary: Canary) -> int:
    """Its number, by which alarms name it; inside the caller's transaction."""
    ((number,),) = db.rows(
        columns.insert("canary", Canary) + "RETURNING number", columns.values(canary)
    )
    return int(number)


def renew(db: Statements, number: int, canary: Canary) -> None:
    """What has become of it; inside the caller's transaction."""
    db.rows(
        columns.update("canary", Canary) + "WHERE number = :number",
        columns.values(canary) | {"number": number},
    )


def canaries(
    db: Statements, campaign: str | None = None, *, last: int = -1
) -> list[tuple[int, Canary]]:
    """With their numbers, in the order in which they were begun; of one campaign (None: of all),
    the `last` so many (-1: all)."""
    found = db.rows(
        f"""SELECT number, {columns.names(Canary)} FROM canary
            WHERE :campaign IS NULL OR campaign = :campaign
            ORDER BY number DESC LIMIT :last""",  # noqa: S608
        {"campaign": campaign, "last": last},
    )
    return [(number, columns.read(Canary, row)) for number, *row in reversed(found)]


def under_way(db: Statements, campaign: str, stage: str = CANARY) -> tuple[int, Canary] | None:
    """The one that was begun and has not ended: it goes on, whoever has begun it."""
    found = db.row(
        f"""SELECT number, {columns.names(Canary)} FROM canary
            WHERE campaign = :campaign AND stage = :stage AND outcome = 'under way'
            ORDER BY number DESC LIMIT 1""",  # noqa: S608
        {"campaign": campaign, "stage": stage},
    )
    return None if found is None else (int(found[0]), columns.read(Canary, found[1:]))
