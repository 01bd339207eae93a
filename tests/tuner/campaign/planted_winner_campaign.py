"""A winner that is 10 % slower than the library as it is loses its place, on the real library.

The planted winner is the library's own call with a wait of a tenth of its time behind it, in every
launch. It is handed to a campaign as if a search had found it.

Minutes, so it is not among the tests that pytest finds: `make test-campaigns`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import loop
from plumbline.core.plan import PlanCase
from plumbline.measure.launches import LaunchStore
from plumbline.search.space.candidates import Candidate
from plumbline.settings import identity
from plumbline.settings.campaign_file import load
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.records import Winner
from tests.tuner import whole

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(3600)]

# No setting of the process is searched: it would be a winner beside the planted one.
SETTINGS = {
    "sizes": [1024, 16384],
    "guidelines": ["GL7"],
    "functions": ["MPI_Bcast"],
    "settings": False,
}
LOSS = 0.10
CAMPAIGNS = 10
# The library's own call, past any preload library: a candidate that is the default.
PLANTED = Candidate("library")


@pytest.mark.parametrize("nprocs", [2, 4])
def test_a_winner_that_is_slower_loses_its_place(
    tmp_path: Path, nprocs: int, monkeypatch: pytest.MonkeyPatch, mpirun: None
) -> None:
    delays: dict[int, int] = {}
    plain = Candidate.case

    def slower(self: Candidate, function: str, size: int) -> PlanCase:
        case = plain(self, function, size)
        if self != PLANTED:
            return case
        return msgspec.structs.replace(case, delay_ns=delays[size])

    monkeypatch.setattr(Candidate, "case", slower)
    lost = 0
    for seed in range(1, CAMPAIGNS + 1):
        asked = load(None, SETTINGS | {"nprocs": nprocs, "seed": seed, "rounds": 1})
        toolchain, settings, ranks = whole.here(asked)
        path = tmp_path / f"{seed}.db"
        with Database.open(path, write=True) as db:
            started = identity.begin(db, toolchain, settings, new=False)
            store = LaunchStore(db, started.id, ranks)
            one = loop.CampaignLoop(store, toolchain, started, settings, tmp_path / f"out-{seed}")

            def plant(*_: object, store: LaunchStore = store) -> tuple[bool, list[Winner]]:
                for found in runs.medians(store.db, store.campaign, ["before"]):
                    case = found.case
                    if (case.function, case.variant, case.ranks) == ("MPI_Bcast", "default", 0):
                        middle = sorted(found.seconds)[len(found.seconds) // 2]
                        delays[case.bytes] = round(LOSS * middle * 1e9)
                return True, [planted(nprocs)]

            monkeypatch.setattr(one, "_search", plant)
            monkeypatch.setattr(one._rounds.seconds, "instead", lambda *_: [])
            one.run()
            kept = findings.get_winners(db, started.id)
            said = [event.text for event in campaigns.events(db, started.id)]
            print(f"seed {seed}: {delays} ns; {len(kept)} kept; {said[-1:]}")
            lost += not kept
    assert lost >= 9


def planted(nprocs: int) -> Winner:
    return Winner(
        function="MPI_Bcast",
        nprocs=nprocs,
        ppn=nprocs,
        bytes_from=1024,
        bytes_to=16384,
        variant=PLANTED.variant,
        configuration={},
        search_speedup=1.2,
        speedup=1.2,
        speedup_low=1.1,
        speedup_high=1.3,
        removes=[],
        restrictions=[],
    )
