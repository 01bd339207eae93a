"""The state of `plumbline watch`: the campaigns and cells that it watches, its canaries and alarms,
and what was done about them (docs/daemon.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from plumbline_db import campaigns, columns
from plumbline_db.records import CANARY, Record
from plumbline_db.statements import Statements


class Watch(Record, frozen=True):
    """The daemon, as it last described itself; whether it still lives, its lock says. `step`: the
    last one; `waits_for`: why it measures nothing now ("": it may). `configuration` is JSON;
    `refused`: why a later one was not taken. Empty times: never."""

    daemon: str
    state: Literal["running", "stopped"]
    pid: int
    host: str
    started: str
    stepped: str
    step: str
    waits_for: str
    next_canary: str
    error: str
    failed: str
    file: str
    configuration: str
    read: str
    refused: str = ""
    refused_at: str = ""


class WatchDay(Record, frozen=True):
    """A day of UTC (`2026-11-24`). `canaries` were judged, `busy` ones said nothing, at `missed`
    moments none was taken though one was due."""

    day: str
    node_seconds: float = 0.0
    canaries: int = 0
    busy: int = 0
    missed: int = 0
    errors: int = 0
    pruned_canaries: int = 0
    pruned_launches: int = 0


class WatchedCampaign(Record, frozen=True):
    """`design` (JSON) and `fingerprint` are what the states of its cells rest on; `generation` of
    `plumbline apply` was in force (0: none). `canaries`: so many were begun; `due`: when the next
    one is. `stale`: why its table is not of what is there now ("": it is)."""

    campaign: str
    begun: str
    design: str
    fingerprint: dict[str, str]
    generation: int
    canaries: int = 0
    due: str = ""
    stale: str = ""
    stale_since: str = ""


class Canary(Record, frozen=True):
    """A few launches, in suites of `stage` and `round`; `cells` were measured, of which
    `reference_cells` are changed by no exported file. `busy`: the machine was, so that it says
    nothing; `failed`, `given up`: not measured to its end. `pruned`: its launches are gone."""

    campaign: str
    round: int
    stage: Literal["canary", "recheck"]
    due: str
    started: str
    finished: str = ""
    seconds: float = 0.0
    node_seconds: float = 0.0
    launches: int = 0
    cells: int = 0
    reference_cells: int = 0
    outcome: Literal["under way", "judged", "busy", "failed", "given up"] = "under way"
    disturbance: float | None = None
    alarms: int = 0
    detail: str = ""
    pruned: bool = False


class WatchedCell(Record, frozen=True):
    """`role`: why it is watched (`table`: few others matter). `seconds`: what ratios are over, in
    its first canary; `state` of the detector is JSON; `ratio`: the last one of its time to what was
    learnt."""

    campaign: str
    function: str
    variant: str
    bytes: int
    role: Literal["winner", "violation", "application", "table", "reference"]
    seconds: float
    state: str
    ratio: float
    measured: str


AlarmState = Literal["raised", "confirmed", "refuted", "searching", "removed", "stays"]


class CellAlarm(Record, frozen=True):
    """A cell that may have changed. `canary`: number of the one that raised it, with `canaries`
    behind it (0: a recheck has found it beside an alarm of its function); `ratio` as it was `seen`
    last, `largest`: farthest from 1. `refuted`, `removed` and `stays` (nothing better was found)
    are ends; `retuning`: number of the search that it opened."""

    campaign: str
    function: str
    variant: str
    bytes: int
    direction: Literal["slower", "faster"]
    found: str
    canary: int
    canaries: int
    ratio: float
    largest: float
    seen: str
    state: AlarmState = "raised"
    ended: str = ""
    retuning: int | None = None
    detail: str = ""

    @property
    def is_open(self) -> bool:
        return not self.ended


RetuningState = Literal[
    "searching", "nothing better", "offered", "applied", "kept", "rolled back", "failed"
]


class Retuning(Record, frozen=True):
    """A search that watching has opened, for cells of `campaign`, because of a change. `search`:
    the campaign that searches (None: not begun). `offered`: there is something better, which
    somebody may apply; `applied`: `generation` took the place of `previous`; `kept`: and it was
    confirmed."""

    campaign: str
    opened: str
    because: str
    settings: str
    search: str | None = None
    state: RetuningState = "searching"
    previous: int = 0
    generation: int = 0
    ended: str = ""
    detail: str = ""


class Notice(Record, frozen=True):
    """A message that was sent by a command or a webhook; `held back`: too many went before it."""

    time: str
    way: Literal["command", "webhook"]
    subject: str
    state: Literal["sent", "failed", "held back"]
    detail: str = ""


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
