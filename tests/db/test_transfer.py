"""Campaigns move between databases: as they are, once, and only unchanged."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from plumbline_db import (
    campaigns,
    coverage,
    findings,
    launch_records,
    machines,
    old_samples,
    outside,
    runs,
    transfer,
)
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import ProbeRecord
from plumbline_db.records import Event, Suite
from tests.db import build, damage, strategies

CAMPAIGN = build.CAMPAIGN.id
HOST = socket.gethostname()
CAME = f"{HOST}:{CAMPAIGN}"
TIME = "2025-03-31T10:00:00+00:00"


@pytest.fixture
def sent(path: Path, tmp_path: Path) -> Path:
    """A file with a finished campaign; another one is under way where it comes from."""
    with Database.open(path, write=True) as db:
        build.done(db)
        build.later(db, "under-way", 3, state="running", finished="")
        launch = build.run("confirm-1-default")
        runs.put(db, launch, build.records(launch, [build.Timed()]), Suite("confirm", 1).beside())
        campaigns.put_event(
            db, CAMPAIGN, Event("2025-03-01T10:00:00Z", "launch failed", "x", launch.id)
        )
    target = tmp_path / "sent.plumbline"
    (moved,) = transfer.export(path, target, [], TIME)
    assert moved.run == CAMPAIGN and len(moved.sha256) == 64
    return target


def as_they_came(name: str, read: object) -> bytes:
    """Records as JSON, with the names of an import taken off."""
    text = msgspec.json.encode(read).replace(f"{HOST}: ".encode(), b"")
    return text.replace(name.encode(), CAMPAIGN.encode())


def test_all_of_a_campaign_comes(path: Path, sent: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    (moved,) = transfer.take(there, sent)
    assert moved.new and check(there) == [] and check(sent) == []
    assert moved.run == CAME
    with Database.open(path) as db, Database.open(there) as other:
        for read in (
            lambda db, id: campaigns.get(db, id),
            lambda db, id: runs.listing(db, id),
            lambda db, id: [launch_records.of_run(db, run.id) for run in runs.listing(db, id)],
            lambda db, id: [findings.get_verdicts(db, id, stage) for stage in ("before", "after")],
            lambda db, id: findings.get_winners(db, id),
            lambda db, id: campaigns.events(db, id),
        ):
            assert as_they_came(CAME, read(other, CAME)) == as_they_came(CAME, read(db, CAMPAIGN))
        assert [one.campaign for one in transfer.listing(other)] == [CAME]
        assert transfer.listing(db) == []
    assert sorted(one.name for one in tmp_path.iterdir() if "sent" in one.name) == [sent.name]


@settings(max_examples=20)
@given(records=strategies.launches())
def test_any_launch_comes_as_it_is(records: list[ProbeRecord]) -> None:
    launch = build.run("any")
    with Database.in_memory() as db, Database.in_memory() as other:
        campaign = build.started(db)
        runs.put(db, launch, records)
        outside.put(other, db, campaign, campaign.id, campaign.key)
        assert launch_records.of_run(other, launch.id) == records
        assert outside.sha256(other, campaign) == outside.sha256(db, campaign)


def test_what_comes_twice_stays_as_it_is(path: Path, sent: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    transfer.take(there, sent)
    before = there.read_bytes()
    (moved,) = transfer.take(there, sent)
    assert not moved.new and there.read_bytes() == before
    (home,) = transfer.take(path, sent)
    assert not home.new
    with Database.open(there, write=True) as db:
        old_samples.prune(db, CAME, "old", TIME)
    (again,) = transfer.take(there, sent)
    assert not again.new


def test_pruned_campaigns_move_too(path: Path, sent: Path, tmp_path: Path) -> None:
    assert sent
    with Database.open(path, write=True) as db:
        old_samples.prune(db, CAMPAIGN, "old", TIME)
        medians = runs.medians(db, CAMPAIGN, ["before"])
    smaller, there = tmp_path / "smaller.plumbline", tmp_path / "there.db"
    transfer.export(path, smaller, [CAMPAIGN], TIME)
    transfer.take(there, smaller)
    with Database.open(there) as db:
        assert runs.medians(db, CAME, ["before"]) == medians
        assert old_samples.of(db, CAME) is not None
    assert check(there) == []


def test_another_campaign_of_that_name(
    sent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there.db"
    with Database.open(there, write=True) as db:
        build.started(db)
        machines.put_machine(db, msgspec.structs.replace(build.MACHINE, host="mine"))
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    (moved,) = transfer.take(there, sent)
    assert moved.run == f"{HOST}:{CAMPAIGN}"
    (again,) = transfer.take(there, sent)
    assert again == moved._replace(new=False)
    with Database.open(there) as db:
        assert len(runs.listing(db, moved.run)) == 4
        assert runs.listing(db, CAMPAIGN) == []
        assert machines.machine(db, build.MACHINE.id).host == "mine"
        assert [event.run for event in campaigns.events(db, moved.run)] == [
            f"{HOST}:{CAMPAIGN}-confirm-1-default-000"
        ]
    assert check(there) == []


def test_what_was_measured_elsewhere_is_not_gone_on_with(sent: Path, tmp_path: Path) -> None:
    """Where machine and library are of the same kind, and whatever host the file names."""
    there, further = tmp_path / "there.db", tmp_path / "further.plumbline"
    transfer.take(there, sent)
    with Database.open(there) as db:
        came = campaigns.get(db, CAME)
        assert came.imported_from == HOST and came.named == f"{CAME} (imported from {HOST})"
        assert campaigns.with_winners(db) == [] == campaigns.own(db)
        assert campaigns.get(db, None) == came
        (covered,) = coverage.of_campaigns(db)
        assert covered.in_force is None
    with Database.open(there, write=True) as db:
        own = build.later(db, "own", 1)
        transfer_last = build.later(db, "elsewhere", 9, key=campaigns.key_from("node7", "k"))
        assert campaigns.get(db, None) == own != transfer_last
        assert campaigns.own(db) == [own]
    transfer.export(there, further, [CAME], TIME)
    (again,) = transfer.take(there, further)
    assert not again.new


def test_in_a_file_that_was_exported_nothing_was_measured_here(sent: Path) -> None:
    with Database.open(sent) as db:
        assert campaigns.own(db) == [] and campaigns.get(db, CAMPAIGN).imported_from == HOST


def test_no_folder_of_here_is_that_of_an_imported_library(sent: Path, tmp_path: Path) -> None:
    transfer.take(tmp_path / "there.db", sent)
    with Database.open(tmp_path / "there.db") as db:
        (library,) = machines.all_libraries(db)
    assert library.prefix == f"{HOST}:{build.LIBRARY.prefix}"


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE verdict SET ratio = 1.0", "is not what was exported"),
        ("UPDATE run SET seconds = 2.0 WHERE number = 1", "is not what was exported"),
        ("UPDATE run SET records = (SELECT max(records) FROM run)", "is not what was exported"),
        ("UPDATE run SET footer = NULL", "is not what was exported"),
        ("DELETE FROM transfer", "was not written by `plumbline db export`"),
        ("CREATE TABLE more (x)", "is not whole"),
        ("CREATE TRIGGER more AFTER INSERT ON run BEGIN SELECT 1; END", "is not whole"),
        ("DROP VIEW launch_median", "is not whole"),
    ],
)
def test_what_was_changed_does_not_come(sent: Path, tmp_path: Path, sql: str, problem: str) -> None:
    with Database.open(sent, write=True) as db:
        db.rows(sql)
    there = tmp_path / "there.db"
    with pytest.raises(PlumblineError, match=problem):
        transfer.take(there, sent)
    if there.exists():
        with Database.open(there) as db:
            assert campaigns.every(db) == []


@pytest.mark.parametrize("kind", damage.KINDS)
def test_damaged_files_are_refused(sent: Path, tmp_path: Path, kind: str) -> None:
    whole = sent.read_bytes()
    for seed in range(8):
        sent.write_bytes(damage.corrupt(whole, kind, seed))
        with pytest.raises(PlumblineError):
            transfer.take(tmp_path / "there.db", sent)


def test_a_whole_database_is_no_such_file(path: Path, sent: Path, tmp_path: Path) -> None:
    assert sent
    with pytest.raises(PlumblineError, match="a whole database is a backup"):
        transfer.take(tmp_path / "there.db", path)


def test_what_cannot_be_exported(path: Path, sent: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no campaign x; it contains: {CAMPAIGN}, under-way"):
        transfer.export(path, tmp_path / "new", ["x"], TIME)
    with pytest.raises(PlumblineError, match="is the database itself"):
        transfer.export(path, path, [], TIME)
    foreign = tmp_path / "foreign"
    foreign.write_text("mine")
    with pytest.raises(PlumblineError, match="not Plumbline's: it was left as it is"):
        transfer.export(path, foreign, [], TIME)
    with Database.open(sent) as db:
        assert [one.id for one in campaigns.every(db)] == [CAMPAIGN]
    before = sent.read_bytes()
    transfer.export(path, sent, ["under-way"], TIME)  # an earlier one is replaced
    assert sent.read_bytes() != before
