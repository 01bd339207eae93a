"""What cold launches with and without the files say that an application saves."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.campaign.pairs import Pairs
from plumbline.core.cell import Target
from plumbline.core.plan import PlanCase
from plumbline.results import saving
from plumbline.settings import identity
from plumbline_db.records import Suite
from tests.db import build
from tests.tuner import planted
from tests.tuner.lab import Lab
from tests.tuner.simulated import OURS, Costs, SimulatedStarter


def test_launches_differ_by_a_factor_that_anchors_show(lab: Lab) -> None:
    """An application that calls the tuned function alone, on a machine that drifts by a quarter:
    what is in force changes nothing, and nothing is saved."""
    settings = planted.settings()
    campaign = msgspec.structs.replace(lab.campaign, settings=identity.text_of(settings))
    reference_cases = [
        PlanCase(name, size, ours) for ours, name in OURS.items() for size in planted.SIZES
    ]
    winner = build.winner(function="MPI_Allreduce", bytes_from=1, bytes_to=65536)
    store = lab.store(SimulatedStarter(Costs(), launch_noise=0.25))
    pairs = Pairs(store, settings, {}, [winner], reference_cases)
    cells = [PlanCase("MPI_Allreduce", size) for size in planted.SIZES]
    seed = settings.sampling.seed
    pairs.add(Suite("confirm", 1), settings.sampling.launches, cells, seed=seed)
    suites = ["confirm-1"]
    table = [build.verdict("after", bytes=size, suites=suites) for size in planted.SIZES]
    found = saving.cold(lab.db, campaign, table, [winner])
    assert found.keys() == {Target("MPI_Allreduce", size) for size in planted.SIZES}
    for one in found.values():
        low, high = one.ratio.low, one.ratio.high
        assert low is not None and high is not None
        assert one.ratio.ratio == pytest.approx(1, abs=0.02)
        assert 0.97 < low < high < 1.03
