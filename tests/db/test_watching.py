"""What `plumbline watch` keeps: what is put comes back, and what is old goes."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db import cost, integrity, old_samples, runs, watching
from plumbline_db.connection import Database
from plumbline_db.records import AFTERWARDS, CANARY, Suite
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
from tests.db.strategies import in_one_database, whole

CAMPAIGN = build.CAMPAIGN.id
watched_campaigns = whole(WatchedCampaign, campaign=st.just(CAMPAIGN))
cells = whole(WatchedCell, campaign=st.just(CAMPAIGN), seconds=st.floats(1e-9, 1e9))
CELL_ALARM = CellAlarm(
    CAMPAIGN, "MPI_Bcast", "default", 64, "slower", "2025-03-02T10:00:00Z", 1, 4, 1.2, 1.2, "x"
)
CANARY_ROW = Canary(CAMPAIGN, 1, "canary", "2025-03-02T10:00:00Z", "2025-03-02T10:00:01Z")


@in_one_database
@given(first=whole(Watch), second=whole(Watch))
def test_the_last_watch_comes_back(started: Database, first: Watch, second: Watch) -> None:
    watching.put(started, first)
    watching.put(started, second)
    assert watching.get(started) == second


def test_nothing_was_watched(started: Database) -> None:
    assert watching.get(started) is None
    assert watching.watched(started) == []
    assert watching.canaries(started) == []


@in_one_database
@given(watched=watched_campaigns)
def test_watched_campaigns_come_back(started: Database, watched: WatchedCampaign) -> None:
    watching.put_campaign(started, watched)
    assert watching.watched(started) == [watched]
    assert watching.campaign(started, CAMPAIGN) == watched


@in_one_database
@given(cell=cells)
def test_watched_cells_come_back(started: Database, cell: WatchedCell) -> None:
    with started.transaction():
        watching.put_cells(started, [cell])
    assert cell in watching.cells(started, CAMPAIGN)
    with started.transaction():
        watching.forget_cells(started, CAMPAIGN, [cell])
    assert watching.cells(started, CAMPAIGN) == []


def test_days_add_up(started: Database) -> None:
    watching.add(started, WatchDay("2026-11-24", 1.5, canaries=1))
    watching.add(started, WatchDay("2026-11-24", 2.5, busy=1, missed=3))
    watching.add(started, WatchDay("2026-11-25", errors=1))
    assert watching.days(started, "2026-11-24") == [
        WatchDay("2026-11-24", 4.0, canaries=1, busy=1, missed=3),
        WatchDay("2026-11-25", errors=1),
    ]
    assert len(watching.days(started, "2026-11-25")) == 1


def test_canaries_come_back(started: Database) -> None:
    with started.transaction():
        number = watching.begin(started, CANARY_ROW)
    assert watching.under_way(started, CAMPAIGN) == (number, CANARY_ROW)
    done = msgspec.structs.replace(
        CANARY_ROW, outcome="judged", seconds=1.5, disturbance=0.4, pruned=True, detail="x"
    )
    with started.transaction():
        watching.renew(started, number, done)
    assert watching.under_way(started, CAMPAIGN) is None
    second = msgspec.structs.replace(CANARY_ROW, round=2)
    with started.transaction():
        other = watching.begin(started, second)
    assert watching.canaries(started) == [(number, done), (other, second)]
    assert watching.canaries(started, CAMPAIGN, last=1) == [(other, second)]
    assert watching.canaries(started, "another") == []


def test_an_open_alarm_is_seen_again(started: Database) -> None:
    with started.transaction():
        watching.begin(started, CANARY_ROW)
        first = watching.raised(started, CELL_ALARM)
        again = msgspec.structs.replace(CELL_ALARM, ratio=1.5, largest=1.5, seen="y")
        assert watching.raised(started, again) == first
        less = msgspec.structs.replace(CELL_ALARM, ratio=1.1, largest=1.1, seen="z")
        assert watching.raised(started, less) == first
        faster = msgspec.structs.replace(CELL_ALARM, direction="faster", ratio=0.5, largest=0.5)
        assert watching.raised(started, faster) != first
    number, alarm = watching.still_open(started, CAMPAIGN)[0]
    assert (number, alarm.ratio, alarm.largest, alarm.seen) == (first, 1.1, 1.5, "z")
    ended = msgspec.structs.replace(alarm, state="refuted", ended="w")
    with started.transaction():
        watching.renew_alarms(started, number, ended)
        assert watching.raised(started, CELL_ALARM) > first
    assert [one.state for _, one in watching.every(started)] == ["refuted", "raised", "raised"]
    assert not ended.is_open


def test_searches_of_alarms_come_back(started: Database) -> None:
    retuning = Retuning(CAMPAIGN, "2025-03-02T10:00:00Z", "MPI_Bcast is slower", "{}")
    with started.transaction():
        watching.begin(started, CANARY_ROW)
        number = watching.opened(started, retuning)
        alarm = msgspec.structs.replace(CELL_ALARM, retuning=number, state="searching")
        watching.raised(started, alarm)
        applied = msgspec.structs.replace(
            retuning, search=CAMPAIGN, state="applied", previous=1, generation=2, ended="x"
        )
        watching.renew_retuning(started, number, applied)
    assert watching.retunings(started, CAMPAIGN) == [(number, applied)]
    assert [one for _, one in watching.of_retuning(started, number)] == [alarm]


def test_notices_come_back(started: Database) -> None:
    told = [
        Notice("2025-03-02T10:00:00Z", "command", "slower", "sent"),
        Notice("2025-03-03T10:00:00Z", "webhook", "slower", "failed", "no route"),
    ]
    for notice in told:
        watching.tell(started, notice)
    assert watching.told(started, "2025-03-02") == told
    assert watching.told(started, "2025-03-03") == told[1:]


def _canary(db: Database, round: int, day: str) -> None:
    """With two launches."""
    suite = Suite(CANARY, round)
    for sequence in range(2):
        run = build.run(suite.name, sequence)
        runs.put(db, run, build.records(run, [build.Timed()]), suite)
    started = f"2025-03-{day}T10:00:00Z"
    with db.transaction():
        number = watching.begin(db, msgspec.structs.replace(CANARY_ROW, round=round))
        done = msgspec.structs.replace(
            CANARY_ROW, round=round, due=started, started=started, outcome="judged"
        )
        watching.renew(db, number, done)


def test_old_canaries_go_and_nothing_else(db: Database) -> None:
    build.finished(db)
    before = runs.listing(db, CAMPAIGN)
    for round, day in enumerate(("02", "03", "04"), 1):
        _canary(db, round, day)
    assert len(runs.listing(db, CAMPAIGN)) == len(before) + 6
    gone = old_samples.launches(db, "2025-03-04T00:00:00Z", 10)
    assert (gone.canaries, gone.launches) == (2, 4)
    assert (gone.first, gone.last) == ("2025-03-02T10:00:00Z", "2025-03-03T10:00:00Z")
    assert old_samples.launches(db, "2025-03-04T00:00:00Z", 10) == old_samples.PrunedCampaigns()
    left = [run for run in runs.listing(db, CAMPAIGN) if run not in before]
    assert [run.suite for run in left] == ["canary-3", "canary-3"]
    assert [one.pruned for _, one in watching.canaries(db)] == [True, True, False]
    assert integrity.problems(db) == []
    with db.transaction():
        watching.raised(db, CELL_ALARM)  # names the first canary
    assert old_samples.rows(db, "2025-03-04T00:00:00Z") == 1
    assert [one.round for _, one in watching.canaries(db)] == [1, 3]


def test_what_watches_costs_the_campaign_nothing(db: Database) -> None:
    build.finished(db)
    before = cost.cost(db, CAMPAIGN)
    _canary(db, 1, "02")
    assert CANARY in AFTERWARDS
    assert cost.cost(db, CAMPAIGN) == before
    own = [run.id for run in runs.listing(db, CAMPAIGN) if not run.suite.startswith(CANARY)]
    assert runs.part(db, CAMPAIGN, kept=own) == []
