"""Mock-ups are made of winners, on a simulated fat tree: times are exact."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from plumbline.campaign.proof import PROFILE
from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db.probe_records import CaseRecord, Check, Samples
from tests import simgrid
from tests.tuner.cli.command import plumbline

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

SIZE = 150000
MOCKUP = "allreduce_as_reduce_scatter_block_plus_allgather"
PARTS = [
    "rule function=MPI_Reduce_scatter_block variant=reduce_scatter_block_recursive_halving",
    "rule function=MPI_Allgather variant=allgather_neighbor_exchange",
]


LARGE_FAT_TREE = """
nprocs = 30
nodes = 10
[simulate]
library = "mpich"
topology = "fat-tree"
shape = [5, 2, 2]
"""


@pytest.fixture(autouse=True, scope="module")
def built() -> None:
    simgrid.toolchain()


def seconds(folder: Path, *rules: str) -> tuple[float, float]:
    """Of the Allreduce, and of its mock-up by name, on 10 nodes of 3 ranks under these rules."""
    file = folder / "machine.toml"
    file.write_text(LARGE_FAT_TREE)
    settings = load(file, {})
    cases = PlanCase("MPI_Allreduce", SIZE), PlanCase("MPI_Allreduce", SIZE, MOCKUP)
    plan = Plan("test", 1, cases, Data(), blocks=2, reps=3, warmup=2)
    profile = folder / "profile"
    every = [f"{rule} nprocs=1-inf bytes=0-inf" for rule in rules]
    profile.write_text("\n".join(["plumbline-profile 1", *every]) + "\n")
    starter = starting.starter(find_toolchain(settings=settings), settings)
    run, records = starter.start("c", "s", 0, plan.text(), {PROFILE: str(profile)})
    assert run.finished, f"{run.reason}\n{run.stderr}"
    assert {one.outcome for one in records if isinstance(one, Check)} == {"ok"}
    times: dict[int, list[int]] = {}
    for one in records:
        if isinstance(one, Samples):
            times.setdefault(one.case, []).extend(one.ns)
    by_variant = {
        one.variant: statistics.median(times[one.case]) / 1e9
        for one in records
        if isinstance(one, CaseRecord)
    }
    return by_variant["default"], by_variant[MOCKUP]


def test_a_mock_up_is_made_of_winners_by_name_and_as_a_rule(tmp_path: Path) -> None:
    """Allreduce as Reduce_scatter_block and Allgather, where both have winners."""
    _, plain = seconds(tmp_path)
    _, made_of_winners = seconds(tmp_path, *PARTS)
    rule, by_name = seconds(tmp_path, *PARTS, f"rule function=MPI_Allreduce variant={MOCKUP}")
    assert made_of_winners < 0.8 * plain
    assert by_name == pytest.approx(made_of_winners, rel=1e-6)
    assert rule == pytest.approx(by_name, rel=0.01)


FAT_TREE = """
nprocs = 12
nodes = 4
sizes = [3001, 150000]
guidelines = ["GL9", "GL12", "GL13", "GL17"]
all = false
variants = ["allreduce_hierarchical", "allreduce_as_reduce_plus_bcast",
            "reduce_scatter_as_allreduce", "reduce_scatter_as_reduce_plus_scatterv"]
[simulate]
library = "impi"
topology = "fat-tree"
shape = [2, 2, 2]
"""


def test_a_campaign_reaches_a_right_hand_side_that_is_a_winner(tmp_path: Path) -> None:
    """Reduce_scatter as Allreduce, which is best in a hierarchy: both are variants of ours."""
    file = tmp_path / "campaign.toml"
    file.write_text(FAT_TREE)
    said = plumbline("campaign", str(file), "--json", "--db", tmp_path / "plumbline.db")
    assert said.status == 0, said.err
    assert len(said.json["before"]["violations"]) == 3
    assert said.json["after"]["violations"] == []
    assert {"allreduce_hierarchical", "reduce_scatter_as_allreduce"} <= {
        winner["variant"] for winner in said.json["winners"]
    }
