"""Which launches of a canary have which cells, and what is made of them."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.daemon.canary import parts
from plumbline.daemon.cells import CanaryCell, CellRoles
from plumbline.watch.chart import CellState
from plumbline_db import runs, watching
from plumbline_db.records import CANARY, Suite
from plumbline_db.watching import Canary
from tests.tuner.daemon.watching import Site
from tests.tuner.simulated import Interrupted

QUIET, NOISY, REFERENCE = (
    CanaryCell("MPI_Bcast", "default", 8),
    CanaryCell("MPI_Scan", "default", 8),
    CanaryCell("MPI_Bcast", "ours", 8),
)
CHOICE = CellRoles({QUIET: "winner", NOISY: "table", REFERENCE: "reference"})


def test_later_launches_have_noisy_cells_and_references_alone() -> None:
    canary = Canary("c", 7, CANARY, "", "")
    first, second = parts(canary, CHOICE, {QUIET: 2, NOISY: 8, REFERENCE: 2})
    assert (first.suite, first.before, first.launches) == (Suite(CANARY, 7), 0, 2)
    assert first.cells == [QUIET, NOISY, REFERENCE]
    assert (second.suite, second.before, second.launches) == (Suite(CANARY, 7, look=2), 2, 6)
    assert second.cells == [NOISY, REFERENCE]


def test_a_noisy_machine_gets_more_launches_and_a_kill_between_loses_none(site: Site) -> None:
    site.changed(canary={"launches_max": 8})
    site.starter._case_noise = 0.04
    assert {one.launches for one in site.canaries(20)} == {2}
    whole = site.canary()
    assert (whole.outcome, whole.launches) == ("judged", 8)
    begun = len(site.starter.launches)
    site.starter._stop_after = begun + 4
    with pytest.raises(Interrupted):
        site.canary()
    site.starter._stop_after = None
    whole = site.canary()
    assert (whole.round, whole.outcome, whole.launches) == (22, "judged", 8)
    assert len(site.starter.launches) == begun + 8
    listed = runs.listing(site.db, site.campaign.id)
    named = {run.suite for run in listed if run.suite.startswith("canary-22")}
    assert "canary-22" in named and len(named) > 1
    states = [
        msgspec.json.decode(one.state, type=CellState)
        for one in watching.cells(site.db, site.campaign.id)
    ]
    assert max(state.launches for state in states) == 8
