"""Samples of old campaigns go, and what was concluded from them stays."""

from __future__ import annotations

import datetime
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline_db import campaigns, findings, launch_records, old_samples, runs, table_samples
from plumbline_db.connection import Database, check, compact, release
from plumbline_db.errors import PlumblineError, TryLaterError
from plumbline_db.old_samples import Policy, Pruned
from plumbline_db.probe_records import Samples, Transit
from tests.db import build
from tests.db.build import Timed

CAMPAIGN = build.CAMPAIGN.id
NOW = datetime.datetime(2025, 3, 31, 10, 0, tzinfo=datetime.UTC)
TIME = NOW.isoformat()


def test_medians_stay_and_samples_are_said_to_be_gone(db: Database) -> None:
    build.done(db)
    before = runs.medians(db, CAMPAIGN, ["before"])
    tables = [findings.get_verdicts(db, CAMPAIGN, stage) for stage in findings.stages(db, CAMPAIGN)]
    would = old_samples.would_go(db, CAMPAIGN, "old", TIME)
    pruned = old_samples.prune(db, CAMPAIGN, "old", TIME)
    assert pruned == would == Pruned(CAMPAIGN, TIME, 6, 3 * 2 * (20 + 50), "old")
    assert old_samples.of(db, CAMPAIGN) == pruned and old_samples.of(db, "another") is None
    assert runs.medians(db, CAMPAIGN, ["before"]) == before
    assert tables == [
        findings.get_verdicts(db, CAMPAIGN, one) for one in findings.stages(db, CAMPAIGN)
    ]
    launch = build.run(sequence=1)
    assert runs.get(db, CAMPAIGN, "before", 1) == launch
    left = launch_records.of_run(db, launch.id)
    assert not any(isinstance(record, Samples) for record in left) and len(left) > 5
    with pytest.raises(
        launch_records.PrunedError, match=r"on 2025-03-31.* \(old\).*db table medians"
    ):
        runs.launch_samples(db, CAMPAIGN, ["before"])
    assert check(db.path) == []


def test_a_pruned_campaign_does_not_go_on(db: Database) -> None:
    build.done(db)
    old_samples.prune(db, CAMPAIGN, "old", TIME)
    with pytest.raises(PlumblineError, match="cannot continue: its samples were thrown away"):
        campaigns.reopen(db, CAMPAIGN)
    assert findings.stages(db, CAMPAIGN) == ["before", "after"]


def test_what_says_how_cases_settled_stays(db: Database) -> None:
    build.done(db)
    launch = build.run("more")
    *records, footer = build.records(launch, [Timed(), Timed(bytes=4), Timed(bytes=8)])
    restless = build.changed_blocks(
        records, lambda one: one._replace(settled=one.block > 0) if one.case == 1 else one
    )
    runs.put(db, launch, [*restless, Transit(2, 1), footer])
    before = table_samples.first_blocks(db, CAMPAIGN, unsettled=True)
    assert [first.case.bytes for first in before] == [4, 8]
    assert old_samples.prune(db, CAMPAIGN, "old", TIME).series == 7
    assert table_samples.first_blocks(db, CAMPAIGN, unsettled=True) == before
    assert [one.blocks for one in runs.samples(db, launch.id, 1)] == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("policy", "old"),
    [
        (Policy(), []),
        (Policy(days=365), []),
        (Policy(days=10), ["c1", "c2", "c3"]),
        (Policy(last=1), ["c1", "c2", "c3"]),
        (Policy(last=2), ["c1", "c2"]),
        (Policy(last=9), []),
        (Policy(days=10, last=3), ["c1"]),
        (Policy(days=0), ["c1", "c2", "c3", "c4", "wide"]),
        (Policy(days=22, last=1), ["c1", "c2"]),
    ],
)
def test_policies(db: Database, policy: Policy, old: list[str]) -> None:
    build.started(db)  # under way
    for number, day in enumerate((1, 5, 10, 25), 1):
        build.later(db, f"c{number}", day)
    build.later(db, "wide", 30, nprocs=8, ppn=8)
    simulated = {"settings": '{"simulate":{"library":"openmpi-5.0"}}', "nprocs": 2, "ppn": 2}
    build.later(db, "simulated", 2, **simulated)
    build.later(db, "other", 2, settings='{"command":"reproducibility"}')
    assert [campaign.id for campaign in old_samples.old(db, policy, NOW)] == old


def test_what_is_pruned_is_pruned_once(db: Database) -> None:
    build.done(db)
    assert len(old_samples.old(db, Policy(days=1), NOW)) == 1
    old_samples.prune(db, CAMPAIGN, "old", TIME)
    assert old_samples.old(db, Policy(days=1), NOW) == []


def _large(path: Path) -> list[str]:
    """Two campaigns of a few hundred pages, done."""
    with Database.open(path, write=True) as db:
        ids = [build.later(db, f"c{number}", number).id for number in (1, 2)]
        for id in ids:
            for sequence in range(3):
                launch = build.run(sequence=sequence, campaign=campaigns.get(db, id))
                cases = [Timed(bytes=size) for size in range(20)]
                runs.put(db, launch, build.records(launch, cases, blocks=20, reps=50))
    return ids


def test_the_file_shrinks(path: Path) -> None:
    ids = _large(path)
    before = path.stat().st_size
    with Database.open(path, write=True) as db:
        for id in ids:
            old_samples.prune(db, id, "old", TIME)
        release(db)
    assert path.stat().st_size < before / 2
    assert check(path) == []
    had, has = compact(path)
    assert has == path.stat().st_size <= had < before / 2
    assert check(path) == []


def test_nobody_prunes_beside_a_campaign(path: Path) -> None:
    """One that writes: the kernel holds its lock."""
    _large(path)
    with Database.open(path, write=True), pytest.raises(TryLaterError, match="is being written"):
        compact(path)


PRUNER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from plumbline_db import old_samples
from plumbline_db.connection import Database, compact, release
with Database.open(Path(sys.argv[1]), write=True) as db:
    for id in ("c1", "c2"):
        print(id, flush=True)
        old_samples.prune(db, id, "old", "2025-03-31T10:00:00+00:00")
    print("release", flush=True)
    release(db)
print("compact", flush=True)
compact(Path(sys.argv[1]))
print("done", flush=True)
"""


@pytest.mark.parametrize("word", ["c1", "c2", "release", "compact", "done"])
def test_killed_while_it_prunes(path: Path, word: str) -> None:
    """Each campaign has all of its samples or says that they are gone, and the file is whole."""
    _large(path)
    pruner = subprocess.Popen(
        [sys.executable, "-c", PRUNER.format(path=sys.path), str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert pruner.stdout is not None
    while pruner.stdout.readline().strip() != word:
        pass
    pruner.send_signal(signal.SIGKILL)
    pruner.stdout.close()
    pruner.wait()
    assert check(path) == []
    with Database.open(path, write=True) as db:
        for id in ("c1", "c2"):
            assert len(runs.medians(db, id, ["before"])) == 20
            left = [
                record
                for run in runs.listing(db, id)
                for record in launch_records.of_run(db, run.id)
                if isinstance(record, Samples)
            ]
            assert len(left) == (0 if old_samples.of(db, id) else 60)
