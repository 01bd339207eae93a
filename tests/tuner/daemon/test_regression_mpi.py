"""With a real Open MPI: somebody spoils the rules file of the generation in force, canaries find
it, and a new generation takes its place. And: a site puts a slow rules file in force, and the cells
are searched over it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from plumbline.applied import apply, targets
from plumbline.applied.generations import Source, Store
from plumbline.daemon.configuration import (
    Applying,
    CanaryTable,
    DaemonConfiguration,
    Neighbour,
    SearchPolicy,
)
from plumbline.daemon.step import DaemonStep
from plumbline.daemon.watcher import Watcher
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import campaigns, findings, watching
from plumbline_db.connection import Database
from plumbline_db.records import UNBOUNDED_BYTES, Campaign
from plumbline_db.watching import Retuning
from tests.exporters.bundles import tuned
from tests.tuner import whole
from tests.tuner.daemon.watching import Clock

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)]

SETTINGS = {"nprocs": 2, "sizes": [1024, 65536], "guidelines": ["GL12"], "rounds": 0}
SETTINGS |= {"launches": 6, "launches_max": 6, "blocks": 6, "reps": 4}


def campaign_of(db: Database, folder: Path) -> Campaign:
    """Its table, and no more."""
    toolchain, settings, ranks = whole.here(load(None, SETTINGS), beside=folder)
    return whole.campaign(db, ranks, settings, folder / "exports", toolchain)


def in_force(db: Database, campaign: Campaign, folder: Path) -> Path:
    """Recursive doubling for all of MPI_Allreduce, as if a search had found it: its rules file."""
    toolchain = find_toolchain(settings=load(None, SETTINGS), beside=folder)
    found = tuned("MPI_Allreduce", "recursive_doubling", 0, UNBOUNDED_BYTES, nprocs=2)
    findings.put_winners(db, campaign.id, [found])
    place = targets.place("modules", toolchain.family, toolchain.installation, folder / "modules")
    wish = apply.Wish(
        source=Source(campaign, [found]),
        machine=toolchain.machine,
        family=toolchain.family,
        installation=toolchain.installation,
        environment={},
    )
    apply.apply(place, wish, now=datetime.now(UTC).isoformat())
    return Store(place.root, place.name, shared=True).path(1) / "ompi-rules.conf"


def watched(
    db: Database, configuration: DaemonConfiguration, spoil: Callable[[], None]
) -> tuple[list[Retuning], list[str]]:
    """`spoil` is called after 21 canaries; until what follows has ended."""
    clock, taken, told = Clock(), 0, list[str]()
    watcher = Watcher(configuration, clock)
    while taken < 60:
        done = watcher.advance(db)
        assert not done.error, done.error
        told += [news.what for news in done.told]
        if done.step is DaemonStep.WAIT and done.due is not None:
            clock.now = max(clock.now, done.due)
        taken += done.step is DaemonStep.CANARY
        retunings = [one for _, one in watching.retunings(db)]
        if (done.step, taken) == (DaemonStep.CANARY, 21):
            assert retunings == []
            spoil()
        if retunings and retunings[-1].ended:
            return retunings, told
    raise AssertionError((told, watching.every(db)))


@pytest.fixture
def folder(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of whoever starts ranks, too."""
    monkeypatch.setenv("HOME", str(open_folder))
    return open_folder


CONFIGURATION = DaemonConfiguration(
    canary=CanaryTable(every="1s", launches=1, launches_max=1, learning=20, cells=4, references=12),
    neighbour=Neighbour(load=1000.0),
    search=SearchPolicy(budget_seconds=60.0),
)


def found(db: Database) -> None:
    """The alarms are of what was spoilt, and true."""
    those = [one for _, one in watching.every(db) if one.state != "refuted"]
    assert {one.function for one in those} == {"MPI_Allreduce"}
    assert max(one.largest for one in those) > 1.5


def test_files_that_are_spoilt_are_found_and_written_again(folder: Path) -> None:
    modules = Applying(auto=True, scope="modules", modules=str(folder / "modules"))
    configuration = msgspec.structs.replace(CONFIGURATION, apply=modules)
    with Database.open(folder / "plumbline.db", write=True) as db:
        campaign = campaign_of(db, folder)
        rules = in_force(db, campaign, folder)

        def spoil() -> None:
            """Recursive doubling (3) becomes a ring (5) of segments of 64 bytes."""
            spoilt = re.sub(
                r"^(\d+) 3 \d+ \d+", r"\1 5 0 64", rules.read_text(), flags=re.MULTILINE
            )
            assert spoilt != rules.read_text()
            rules.write_text(spoilt)

        (row,), told = watched(db, configuration, spoil)
        assert (row.state, row.previous, row.generation) == ("kept", 1, 2), (row, told)
        assert "changed since they were written: ompi-rules.conf" in row.because
        assert watching.campaign(db, campaign.id).generation == 2
        found(db)


SLOW = """\
1 # collectives
2 # MPI_Allreduce
1
0 # ranks and more
1
0 5 0 64
"""


def slow_rules(home: Path) -> None:
    """In force for whoever has this home."""
    (home / "slow.rules").write_text(SLOW)
    (home / ".openmpi").mkdir(exist_ok=True)
    (home / ".openmpi" / "mca-params.conf").write_text(
        f"coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {home}/slow.rules\n"
    )


def test_slow_rules_of_a_site_open_a_search(folder: Path) -> None:
    with Database.open(folder / "plumbline.db", write=True) as db:
        campaign_of(db, folder)

        (row,), told = watched(db, CONFIGURATION, lambda: slow_rules(folder))
        assert "what is in force has changed" in told[0]
        assert row.state == "offered", (row, told)
        search = campaigns.get(db, row.search)
        assert search.state == "finished" and search.site_rules == SLOW
        better = findings.get_winners(db, search.id)
        assert {one.function for one in better} == {"MPI_Allreduce"}
        assert max(one.speedup for one in better) > 1.5
        found(db)
