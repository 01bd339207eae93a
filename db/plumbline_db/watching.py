"""The state of `plumbline watch`: the campaigns and cells that it watches, and its canaries. Alarms
and what was done about them are here too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from plumbline_db import campaigns, columns
from plumbline_db.records import CANARY
from plumbline_db.statements import Statements
from plumbline_db.watch_records import (
    Canary,
    CellAlarm,
    Notice,
    Retuning,
    Watch,
    WatchDay,
    WatchedCampaign,
    WatchedCell,
)

_OF_CAMPAIGN = "WHERE :campaign IS NULL OR campaign = :campaign ORDER BY number"


def raised(db: Statements, alarm: CellAlarm) -> int:
    """Return its number; inside the caller's transaction. A cell that has an open one of the same
    direction has that one still: it is seen again, and its largest change kept."""
    campaigns.require(db, alarm.campaign)
    row = db.row(
        """SELECT number FROM alarm
           WHERE campaign = :campaign AND function = :function AND variant = :variant
             AND bytes = :bytes AND direction = :direction AND ended = ''""",
        columns.values(alarm),
    )
    if row is not None:
        db.rows(
            """UPDATE alarm SET ratio = :ratio, seen = :seen,
                   largest = CASE WHEN abs(ln(:ratio)) > abs(ln(largest)) THEN :ratio
                                  ELSE largest END
               WHERE number = :number""",
            {"ratio": alarm.ratio, "seen": alarm.seen, "number": row[0]},
        )
        return int(row[0])
    return int(columns.put(db, "alarm", alarm, "RETURNING number"))


def renew_alarms(db: Statements, number: int, alarm: CellAlarm) -> None:
    """Store what has become of it."""
    columns.renew(db, "alarm", number, alarm)


def every(db: Statements, campaign: str | None = None) -> list[tuple[int, CellAlarm]]:
    """Return them with their numbers, in the order in which they were raised: those of one campaign
    (None: of all)."""
    return columns.numbered(db, "alarm", CellAlarm, _OF_CAMPAIGN, {"campaign": campaign})


def still_open(db: Statements, campaign: str) -> list[tuple[int, CellAlarm]]:
    return [(number, alarm) for number, alarm in every(db, campaign) if alarm.is_open]


def opened(db: Statements, retuning: Retuning) -> int:
    """Return its number; inside the caller's transaction."""
    campaigns.require(db, retuning.campaign)
    return int(columns.put(db, "retuning", retuning, "RETURNING number"))


def renew_retuning(db: Statements, number: int, retuning: Retuning) -> None:
    """Store what has become of it."""
    columns.renew(db, "retuning", number, retuning)


def retunings(db: Statements, campaign: str | None = None) -> list[tuple[int, Retuning]]:
    """Return them with their numbers, in the order in which they were opened: those of one campaign
    (None: of all)."""
    return columns.numbered(db, "retuning", Retuning, _OF_CAMPAIGN, {"campaign": campaign})


def of_retuning(db: Statements, number: int) -> Sequence[tuple[int, CellAlarm]]:
    """The alarms that opened it."""
    where = "WHERE retuning = :number ORDER BY number"
    return columns.numbered(db, "alarm", CellAlarm, where, {"number": number})


# --- the daemon itself -------------------------------------------------------------------------


def put(db: Statements, watch: Watch) -> None:
    """Store it in the place of what another daemon has said, or this one before."""
    with db.transaction():
        db.rows("DELETE FROM watch")
        columns.put(db, "watch", watch)


def get(db: Statements) -> Watch | None:
    """None: nothing was ever watched here."""
    return columns.first_of(db, "watch", Watch)


def add(db: Statements, day: WatchDay) -> None:
    """Adds what has come to that day."""
    numbers = [name for name in WatchDay.__struct_fields__ if name != "day"]
    more = ", ".join(f"{name} = {name} + excluded.{name}" for name in numbers)
    with db.transaction():
        columns.put(db, "watch_day", day, f"ON CONFLICT (day) DO UPDATE SET {more}")


def days(db: Statements, since: str = "") -> list[WatchDay]:
    """Return those from that day on (`2026-11-24`), in their order."""
    where = "WHERE day >= :since ORDER BY day"
    return columns.all_of(db, "watch_day", WatchDay, where, {"since": since})


def tell(db: Statements, notice: Notice) -> None:
    """Store that something was told by a command or a webhook."""
    with db.transaction():
        columns.put(db, "notice", notice)


def told(db: Statements, since: str) -> list[Notice]:
    """Return those from that time of day on, in the order in which they were made."""
    where = "WHERE time >= :since ORDER BY number"
    return columns.all_of(db, "notice", Notice, where, {"since": since})


# --- what is watched ---------------------------------------------------------------------------


def put_campaign(db: Statements, watched: WatchedCampaign) -> None:
    """Store, or replace what is known of it."""
    with db.transaction():
        campaigns.require(db, watched.campaign)
        db.rows("DELETE FROM watched_campaign WHERE campaign = :id", {"id": watched.campaign})
        columns.put(db, "watched_campaign", watched)


def watched(db: Statements) -> list[WatchedCampaign]:
    """Return them in the order in which they began to be watched."""
    return columns.all_of(db, "watched_campaign", WatchedCampaign, "ORDER BY begun, campaign")


def campaign(db: Statements, id: str) -> WatchedCampaign | None:
    return next(
        (watched_campaign for watched_campaign in watched(db) if watched_campaign.campaign == id),
        None,
    )


def counted(db: Statements, campaign: str, canaries: int) -> None:
    """So many canaries of it were begun; inside the caller's transaction."""
    db.rows(
        "UPDATE watched_campaign SET canaries = :canaries WHERE campaign = :campaign",
        {"campaign": campaign, "canaries": canaries},
    )


def cells(db: Statements, campaign: str) -> list[WatchedCell]:
    """Return them by function, variant and size."""
    where = "WHERE campaign = :campaign ORDER BY function, variant, bytes"
    return columns.all_of(db, "watched_cell", WatchedCell, where, {"campaign": campaign})


def put_cells(db: Statements, cells: Iterable[WatchedCell]) -> None:
    """Store, or replace; inside the caller's transaction."""
    changed = f"ON CONFLICT DO UPDATE SET {columns.renewed(WatchedCell)}"
    columns.put_rows(db, "watched_cell", [columns.values(cell) for cell in cells], changed)


def forget_cells(db: Statements, campaign: str, gone: Sequence[WatchedCell]) -> None:
    """Watch these no more; inside the caller's transaction."""
    for cell in gone:
        db.rows(
            """DELETE FROM watched_cell WHERE campaign = :campaign AND function = :function
               AND variant = :variant AND bytes = :bytes""",
            columns.values(cell) | {"campaign": campaign},
        )


# --- canaries ----------------------------------------------------------------------------------


def begin(db: Statements, canary: Canary) -> int:
    """Return its number, by which alarms name it; inside the caller's transaction."""
    return int(columns.put(db, "canary", canary, "RETURNING number"))


def renew(db: Statements, number: int, canary: Canary) -> None:
    """Store what has become of it."""
    columns.renew(db, "canary", number, canary)


def canaries(
    db: Statements, campaign: str | None = None, *, last: int = -1
) -> list[tuple[int, Canary]]:
    """Return them with their numbers, in the order in which they were begun: those of one campaign
    (None: of all), the `last` so many (-1: all)."""
    where = "WHERE :campaign IS NULL OR campaign = :campaign ORDER BY number DESC LIMIT :last"
    all_canaries = columns.numbered(
        db, "canary", Canary, where, {"campaign": campaign, "last": last}
    )
    return all_canaries[::-1]


def under_way(db: Statements, campaign: str) -> tuple[int, Canary] | None:
    """The one that was begun and has not ended: it goes on, whoever has begun it."""
    where = """WHERE campaign = :campaign AND stage = :stage AND outcome = 'under way'
               ORDER BY number DESC LIMIT 1"""
    key = {"campaign": campaign, "stage": CANARY}
    return next(iter(columns.numbered(db, "canary", Canary, where, key)), None)
