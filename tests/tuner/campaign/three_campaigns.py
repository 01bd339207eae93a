"""Three campaigns in a row on the real library: in fresh launches with the exported files in force,
in turn with launches without, no cell is significantly slower than before, and no round has fewer
violations than the last one.

Minutes, so it is not among the tests that pytest finds: `make test-campaigns`."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.campaign.pairs import Pairs, target_of
from plumbline.campaign.proof import environment_of
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline.verify import decision
from plumbline_db import findings
from plumbline_db.connection import Database
from plumbline_db.records import Suite
from plumbline_exporters import plumbline_sh
from tests.tuner import whole

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(3600)]

SETTINGS = {
    "nprocs": 4,
    "sizes": [64, 4096, 16384, 65536],
    "guidelines": ["GL3", "GL7", "GL8", "GL10", "GL11", "GL12"],
    "launches": 12,
    "launches_max": 12,
    "blocks": 8,
}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_cell_is_slower(tmp_path: Path, seed: int, mpirun: None) -> None:
    settings = load(None, SETTINGS | {"seed": seed})
    toolchain = find_toolchain(settings=settings)
    ranks = starting.starter(toolchain, settings)
    guidelines = identity.chosen(toolchain, settings)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        folder = tmp_path / "out"
        started = whole.campaign(db, ranks, settings, folder, toolchain)
        found = findings.stages(db, started.id)
        counts = [
            sum(one.verdict == "violated" for one in findings.get_verdicts(db, started.id, stage))
            for stage in sorted(found, key=lambda one: (one == "after", len(one), one))
        ]
        chosen = findings.get_winners(db, started.id)
    print(f"\nseed {seed}: violations {counts}, {len(chosen)} winners")
    assert counts[-1] == min(counts) < counts[0]
    with Database.open(tmp_path / "fresh.db", write=True) as db:
        again = settings.but(seed=settings.sampling.seed + 1000)
        other = identity.begin(db, toolchain, again, new=False)
        environment = environment_of(folder / plumbline_sh.FILE_NAME, ranks.clean_environment())
        cells = [
            one
            for one in tables.cases(guidelines, settings)
            if one.variant == "default" and not one.ranks
        ]
        # As in a campaign: what is slower must be so again in fresh pairs. With some 24 cells and
        # three campaigns a single look would find one by chance every seventh time.
        slower = {target_of(one) for one in cells}
        for number, suite in enumerate(("fresh", "fresh-again")):
            if slower:
                pairs = Pairs(LaunchStore(db, other.id, ranks), again, environment, chosen)
                pairs.add(Suite(suite), 12, cells, seed=again.sampling.seed + 500 * number)
                assert pairs.lost == []
                found_slower = decision.slower(pairs.ratios, pairs.claim)
                print({one: told.ratio for one, told in found_slower.items()})
                slower &= set(found_slower)
    assert slower == set()
