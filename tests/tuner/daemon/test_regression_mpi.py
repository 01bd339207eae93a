"""With a real Open MPI: somebody spoils the rules file of the generation in force, canaries find
it, and a new generation takes its place. And: a site puts a slow rules file in force, and the cells
are searched over it."""

from __future__ import annotations

import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from plumbline.applied import apply, places
from plumbline.applied.generations import Source, Store
from plumbline.campaign import loop
from plumbline.daemon.configuration import (
    Applying,
    CanaryTable,
    Configuration,
    Neighbour,
    Searching,
)
from plumbline.daemon.step import Step
from plumbline.daemon.watcher import Watcher
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db import alarms, watching, winners
from plumbline_db.connection import Database
from plumbline_db.records import UNBOUNDED_BYTES, Campaign, Retuning
from tests.exporters.bundles import tuned
from tests.tuner.daemon.watching import Clock

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(900)]

SETTINGS = {"nprocs": 2, "sizes": [1024, 65536], "guidelines": ["GL12"], "rounds": 0}
SETTINGS |= {"launches": 6, "launches_max": 6, "blocks": 6, "reps": 4}


def campaign_of(db: Database, folder: Path) -> Campaign:
    """Finished, with recursive doubling for all of MPI_Allreduce, as if a search had found it."""
    settings = load(None, SETTINGS)
    toolchain = find_toolchain(settings=settings, beside=folder)
    settings = settings.on(toolchain.launcher.processing_units())
    begun = identity.begin(db, toolchain, settings, new=False)
    store = LaunchStore(db, begun.id, starting.starter(toolchain, settings))
    done = loop.Loop(store, toolchain, begun, settings, folder / "exports").run()
    found = tuned("MPI_Allreduce", "recursive_doubling", 0, UNBOUNDED_BYTES, nprocs=2)
    winner = msgspec.structs.replace(found, ppn=2)
    winners.put(db, done.id, [winner])
    place = places.place("modules", toolchain.family, toolchain.installation, folder / "modules")
    wish = apply.Wish(
        source=Source(done, [winner]),
        machine=toolchain.machine,
        family=toolchain.family,
        installation=toolchain.installation,
        environment={},
    )
    apply.apply(place, wish, now=datetime.now(UTC).isoformat())
    return done


def spoil(rules: Path) -> None:
    """Recursive doubling (3) becomes a ring of segments of 64 bytes (5)."""
    text = rules.read_text()
    spoilt = re.sub(r"^(\d+) 3 \d+ \d+", r"\1 5 0 64", text, flags=re.MULTILINE)
    assert spoilt != text, text
    rules.write_text(spoilt)


def rules_in_force(folder: Path) -> Path:
    (store,) = (folder / "modules" / ".plumbline").iterdir()
    return Store(store.parent, store.name, shared=True).path(1) / "ompi-rules.conf"


def test_rules_that_are_spoilt_are_found_and_replaced() -> None:
    with tempfile.TemporaryDirectory(prefix="plumbline-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        table = CanaryTable(every="1s", launches=1, learning=20, cells=4, references=12)
        configuration = Configuration(
            canary=table,
            neighbour=Neighbour(load=1000.0),
            search=Searching(budget_seconds=30.0),
            apply=Applying(auto=True, scope="modules", modules=str(folder / "modules")),
        )
        with Database.open(folder / "plumbline.db", write=True) as db:
            campaign = campaign_of(db, folder)
            clock = Clock()
            watcher = Watcher(configuration, clock)
            taken, told = 0, []
            retunings: list[Retuning] = []
            while taken < 60 and not (retunings and retunings[-1].ended):
                done = watcher.advance(db)
                assert not done.error, done.error
                told += [news.what for news in done.told]
                if done.step is Step.WAIT and done.due is not None:
                    clock.now = max(clock.now, done.due)
                taken += done.step is Step.CANARY
                if (done.step, taken) == (Step.CANARY, 21):
                    spoil(rules_in_force(folder))
                retunings = [one for _, one in alarms.retunings(db)]
            assert [one.state for one in retunings] == ["kept"], (retunings, told)
            (row,) = retunings
            assert row.previous == 1 and row.generation == 2
            assert "changed since they were written: ompi-rules.conf" in row.because
            found = [one for _, one in alarms.every(db)]
            assert {one.function for one in found} == {"MPI_Allreduce"}
            assert max(one.largest for one in found) > 1.5
            assert watching.campaign(db, campaign.id).generation == 2
