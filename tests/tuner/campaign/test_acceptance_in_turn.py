"""Winners that hold for whole launches are tried in all circumstances, in turn with the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.campaign.proof import environment_of
from plumbline.campaign.vetting import FIRST, AcceptanceInTurn
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite, Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.registry import write
from tests.exporters.bundles import bundle, tuned
from tests.tuner.lab import Lab
from tests.tuner.simulated import LATENCY, Costs, SimulatedStarter

SIZES = {name: [64, 512, 4096] for name in LATENCY if name != "MPI_Reduce_local"}
RING = ("MPI_Allreduce", "rabenseifner")
WINNER = tuned(*RING, 64, 512)


def hurt(lab: Lab, folder: Path, costs: Costs) -> tuple[list[tuple[Winner, str]], SimulatedStarter]:
    settings = load(None, {"nprocs": 4, "sizes": [64, 512], "blocks": 2, "reps": 2})
    starter = SimulatedStarter(costs, launch_noise=0.1)
    write(bundle(WINNER, directory=str(folder)), ["env"])
    environment = environment_of(folder / plumbline_sh.FILE_NAME, starter.clean_environment())
    acceptance = AcceptanceInTurn(lab.store(starter), settings, SIZES, crowded=True)
    found = acceptance.harm(Suite("accept", 1, "cold"), [WINNER], [WINNER], environment)
    return found, starter


def test_what_is_faster_everywhere_stays(lab: Lab, tmp_path: Path) -> None:
    found, starter = hurt(lab, tmp_path, Costs(algorithm={RING: lambda *_: 0.8}))
    assert found == []
    sides = ["accept-1-cold", "accept-1-cold-default"]
    assert [suite for suite, _ in starter.launches] == sides * FIRST


@pytest.mark.parametrize("word", ["loop", "stream", "MPI_FLOAT"])
def test_slower_in_one_circumstance_is_seen(lab: Lab, tmp_path: Path, word: str) -> None:
    costs = Costs(algorithm={RING: lambda *_: 0.8}, where={("rabenseifner", word): 1.6})
    found, starter = hurt(lab, tmp_path, costs)
    ((winner, why),) = found
    assert winner == WINNER
    assert why.startswith("slower at 64 B (") and word in why
    assert len(starter.launches) == 2 * 9  # what seems slower is measured again


def test_nothing_cold_is_not_measured(lab: Lab) -> None:
    settings = load(None, {"nprocs": 4, "sizes": [64, 512]})
    starter = SimulatedStarter(Costs())
    acceptance = AcceptanceInTurn(lab.store(starter), settings, SIZES, crowded=True)
    none = acceptance.harm(Suite("x"), [WINNER], [], {})
    assert (none, starter.launches) == ([], [])
