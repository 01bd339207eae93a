"""A database that has something to tell by every metric: campaigns one after the other, one under
way, tuned overlap, and a daemon that watches."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec

from plumbline_db import campaigns, findings, runs, watching
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Verdict
from plumbline_db.watching import (
    Canary,
    CellAlarm,
    Notice,
    Retuning,
    Watch,
    WatchDay,
    WatchedCampaign,
    WatchedCell,
)
from tests.db import build

DAY = datetime.timedelta(days=1)
HOLDS = {"verdict": "holds", "ratio": 0.9, "ratio_low": 0.88, "ratio_high": 0.92}


def text(time: datetime.datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def fill(path: Path, now: datetime.datetime) -> None:
    """Ten days ago a campaign that removed a violation; yesterday another one, in whose tables one
    has come and one has gone; one that is under way at twice as many ranks; a cell that is slower
    than it was learnt."""
    with Database.open(path, write=True) as db:
        first = campaign(db, "c-1", now - 10 * DAY)
        tables(db, first, [build.verdict("before"), build.verdict("before", bytes=4, **HOLDS)])
        second = campaign(db, "c-2", now - DAY)
        appeared = build.verdict("before", bytes=4)
        tables(db, second, [build.verdict("before", **HOLDS), appeared])
        wide = {"nprocs": 8, "ppn": 8, "state": "running", "finished": ""}
        running = campaign(db, "c-3", now - DAY / 24, **wide)
        findings.put_verdicts(db, running.id, "before", [build.verdict("before", nprocs=8, ppn=8)])
        tuned = {"settings": '{"command":"overlap tune"}'}
        tuning = campaign(db, "o-1", now - 2 * DAY, **tuned)
        tables(db, tuning, [overlap("violated"), overlap("holds", bytes=8)])
        watch(db, second, now)


def campaign(db: Database, id: str, at: datetime.datetime, **changes: object) -> Campaign:
    values: dict[str, object] = {"id": id, "key": f"k-{id}", "started": text(at)}
    values |= {"state": "finished", "finished": text(at + DAY / 24)}
    campaign = build.started(db, msgspec.structs.replace(build.CAMPAIGN, **{**values, **changes}))
    for sequence, failure in enumerate((None, None, build.EXIT)):
        launch = build.run(sequence=sequence, campaign=campaign)
        launch = msgspec.structs.replace(launch, failure=failure, started=text(at))
        cases = [build.Timed(), build.Timed(bytes=4, outcome="wrong")] if not failure else []
        runs.put(db, launch, build.records(launch, cases) if cases else [])
    return campaign


def tables(db: Database, campaign: Campaign, before: list[Verdict]) -> None:
    """After it, nothing is violated but GL14, against which no winner helps."""
    findings.put_verdicts(db, campaign.id, "before", before)
    after = [
        msgspec.structs.replace(one, stage="after", **({} if one.guideline == "GL14" else HOLDS))
        for one in before
    ]
    findings.put_verdicts(db, campaign.id, "after", after)
    findings.put_winners(
        db, campaign.id, [build.winner(), build.winner(function="MPI_Gather", speedup=1.4)]
    )
    campaigns.put(db, campaign)


def overlap(verdict: str, **changes: object) -> Verdict:
    what = {"guideline": "OV1", "kind": "overlap", "function": "pt2pt", "rhs": "serialised"}
    return build.verdict("before", **{**what, "verdict": verdict, **changes})


def watch(db: Database, campaign: Campaign, now: datetime.datetime) -> None:
    configuration = {"neighbour": {"node_seconds_a_day": 7200, "node_seconds_a_week": 36000}}
    watching.put(
        db,
        Watch(
            daemon="d-1", state="running", pid=1, host="node1", started=text(now - 3 * DAY),
            stepped=text(now), step="canary", waits_for="", next_canary=text(now + DAY / 24),
            error="the library is not there", failed=text(now - 2 * DAY), file="watch.toml",
            configuration=msgspec.json.encode(configuration).decode(), read=text(now - 3 * DAY),
        ),
    )  # fmt: skip
    for days in (1, 0):
        date = (now - days * DAY).date().isoformat()
        watching.add(db, WatchDay(date, 40.0, canaries=20, busy=2, missed=1, errors=1))
    watching.put_campaign(
        db, WatchedCampaign(campaign.id, text(now - DAY), "{}", {"library": "x"}, 1, 3)
    )
    cell = WatchedCell(
        campaign.id, "MPI_Allreduce", "default", 16384, "winner", 4e-5, "{}", 1.2, text(now)
    )
    canary = Canary(
        campaign.id, 1, "canary", text(now - DAY / 24), text(now - DAY / 24), text(now - DAY / 25),
        outcome="judged", disturbance=0.6, launches=3, cells=12, reference_cells=10, alarms=1,
    )  # fmt: skip
    with db.transaction():
        roles = ("winner", "violation", "application", "reference")
        cells = [msgspec.structs.replace(cell, role=r, bytes=8 * n) for n, r in enumerate(roles)]
        watching.put_cells(db, cells)
        number = watching.begin(db, canary)
        alarm = CellAlarm(
            campaign.id, "MPI_Allreduce", "default", 8, "slower", text(now), number, 4, 1.2, 1.3,
            text(now), "confirmed",
        )  # fmt: skip
        watching.raised(db, alarm)
        watching.opened(db, Retuning(campaign.id, text(now), "a change", "{}"))
    watching.tell(db, Notice(text(now), "command", "MPI_Allreduce is slower", "sent"))
