"""Campaigns on simulated machines of every topology, and the platform files of the examples. What
messages take on them: test_simulation.py; with 48 ranks: `make test-scale`."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import msgspec
import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.simulated import Simulated
from plumbline.launch.simulation import Simulation
from plumbline.libraries import Installation
from plumbline.measure import tables
from plumbline.settings import starting
from plumbline.settings.campaign_file import load, of
from plumbline.settings.toolchain import find_toolchain
from plumbline.system.toml import Document
from plumbline_db.probe_records import Samples
from plumbline_db.records import Library
from tests import simgrid
from tests.tuner.cli.command import plumbline
from tests.tuner.families.installations import script
from tests.tuner.simulated import ROOT

FAT_TREE = Simulation(
    library="mpich",
    topology="fat-tree",
    shape=[6, 4, 2],
    latency_seconds=1.7e-6,
    bandwidth_bytes_per_second=5e9,
)
EXAMPLES = [
    path
    for path in sorted((ROOT / "docs" / "examples").glob("*.toml"))
    if "simulate" in tomllib.loads(path.read_text())
]


@pytest.fixture(scope="module")
def probe() -> Path:
    return simgrid.toolchain().probe


def test_one_rank_has_one_node(tmp_path: Path) -> None:
    """Whatever the machine is like: no shape of many nodes fits it."""
    script(tmp_path / "smpirun", 'while [ "$1" != -platform ]; do shift; done; cat "$2"')
    library = Library("simgrid-3.32-mpich", "simgrid", "3.32", "", "", "f", {"selector": "mpich"})
    installation = Installation(library, tmp_path / "smpirun", None)
    said = Simulated(FAT_TREE).alone(installation, ["/opt/probe", "--list"], 5).stdout
    assert 'radical="0-0"' in said and "topo" not in said


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("topology", "shape"),
    [("cluster", []), ("fat-tree", [2, 2, 2]), ("dragonfly", [2, 1, 2, 1]), ("torus", [2, 2])],
)
def test_a_rank_that_has_a_node_for_itself_reaches_itself(
    probe: Path, topology: str, shape: list[int]
) -> None:
    """Alltoall sends to oneself, too; a torus has no way from a node to itself but the node's."""
    simulate = {"library": "mpich", "topology": topology, "shape": shape}
    settings = of(Document("a test"), {"nprocs": 4, "nodes": 4, "simulate": simulate}, {})
    starter = starting.starter(find_toolchain(settings=settings), settings)
    cases = [PlanCase("MPI_Allgather", 40000, "allgather_as_alltoall")]
    plan = msgspec.structs.replace(tables.plan(settings, cases), name="a-test")
    run, _ = starter.start("campaign", "suite", 0, plan.text(), {})
    assert run.finished, run.stderr


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "shape", "layout"),
    [("fat-tree", [2, 2, 2], "4x2"), ("dragonfly", [2, 1, 2, 1], "4x2"), ("torus", [2, 2], "4x2")],
)
def test_a_campaign(
    probe: Path, tmp_path: Path, topology: str, shape: list[int], layout: str
) -> None:
    """What Gather of MVAPICH2 loses against Allgather, it loses on every topology."""
    file = tmp_path / "campaign.toml"
    file.write_text(
        f'layouts = ["{layout}"]\nsizes = [128, 700]\nguidelines = ["GL3"]\n'
        'variants = ["gather_binomial"]\n'
        f'[simulate]\nlibrary = "mvapich2"\ntopology = "{topology}"\nshape = {shape}\n'
    )
    said = plumbline("campaign", file, "--json", "--db", tmp_path / "plumbline.db")
    assert said.status == 0, said.err
    assert (said.json["nodes"], said.json["ppn"]) == (4, 2)
    assert topology in said.json["machine"]["host"]
    assert said.json["before"]["violations"] != [] and said.json["winners"] != []
    assert said.json["after"]["violations"] == []


@pytest.mark.mpi
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_platform_takes_the_examples(probe: Path, tmp_path: Path, example: Path) -> None:
    """And SimGrid takes what it writes."""
    platform, hosts = tmp_path / "platform.xml", tmp_path / "hosts"
    said = plumbline("platform", example, "--output", platform)
    assert said.status == 0, said.err
    hosts.write_text("node-0\n")
    words = ["smpirun", "-quiet", "-np", "1", "-platform", platform, "-hostfile", hosts]
    done = subprocess.run([*words, probe, "--list"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize(
    "example",
    [path for path in EXAMPLES if "topology" in path.read_text()],
    ids=lambda path: path.stem,
)
def test_all_ranks_of_an_example_reach_each_other(
    probe: Path, tmp_path: Path, example: Path
) -> None:
    said = plumbline("verify", example, "--json", "--db", tmp_path / "plumbline.db")
    assert said.status in (0, 3), said.err
    assert said.json["cost"]["failed"] == 0


def test_platform_wants_one_layout(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text('layouts = ["4x2", "8x1"]\n[simulate]\nlibrary = "ompi"\n')
    said = plumbline("platform", file)
    assert said.status == 2 and "several layouts" in said.err
    assert 'radical="0-3"' in plumbline("platform", file, "--nprocs", 8, "--nodes", 4).out
    real = plumbline("platform", ROOT / "docs" / "examples" / "laptop.toml")
    assert real.status == 2 and "no table `simulate`" in real.err


# --- cycles ---------------------------------------------------------------------------------------


@pytest.mark.mpi
@pytest.mark.slow
def test_what_is_reported_is_what_calls_settle_at(probe: Path) -> None:
    """Allgather takes longer the first time; the oracle repeats it without looking."""
    settings = load(None, {"nprocs": 48, "nodes": 24, "simulate": "mpich"})
    settings = settings.but(simulate=FAT_TREE)
    ranks = starting.starter(find_toolchain(settings=settings), settings)
    many = Plan("t", 1, (PlanCase("MPI_Allgather", 700),), blocks=1, reps=8, warmup=0)
    few = msgspec.structs.replace(tables.plan(settings, many.cases), name="t")
    (oracle,), (found,) = (
        [one for one in records if isinstance(one, Samples)]
        for _, records in (ranks.start("c", "s", 0, plan.text(), {}) for plan in (many, few))
    )
    (settled,) = found.ns
    assert oracle.ns[0] > 1.02 * oracle.ns[-1]
    assert settled == pytest.approx(oracle.ns[-1], rel=1e-3)
    assert all(found.settled) and found.warmup_ns[0] > 1.002 * settled
    assert 2 < len(found.warmup_ns) < 8
