"""Records that `plumbline watch` keeps (docs/daemon.md)."""

from __future__ import annotations

from typing import Literal

from .record import Record


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
