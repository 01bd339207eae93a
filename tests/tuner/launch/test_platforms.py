"""Topologies, by SimGrid's own parser and its own messages: a message takes as long as the links
on its way."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from plumbline.launch import simulation
from plumbline.launch.simulation import Simulation, Topology
from plumbline.system.placement import Placement

SOURCE = Path(__file__).with_name("hops.c")
LINKS = Simulation(
    library="ompi",
    latency_seconds=1e-5,
    bandwidth_bytes_per_second=1e12,
    switch_latency_seconds=5e-6,
    near_latency_seconds=1e-6,
    near_bandwidth_bytes_per_second=1e12,
)


@pytest.mark.parametrize(
    ("topology", "shape", "nodes", "message"),
    [
        ("torus", [2, 3], 6, None),
        ("torus", [2, 3], 5, "has 6 nodes, and the ranks are spread over 5"),
        ("torus", [], 1, "shape of topology"),
        ("torus", [2, 0], 0, "from 1 on"),
        ("fat-tree", [4, 2, 3], 8, None),
        ("fat-tree", [4, 2], 8, "switches above"),
        ("dragonfly", [2, 2, 2, 2], 16, None),
        ("dragonfly", [2, 2, 2], 8, "nodes a router"),
        ("dragonfly", [3, 2, 2, 2], 24, "3 groups need at least 3 routers in each chassis"),
        ("cluster", [], 7, None),
        ("cluster", [7], 7, "is [], not [7]"),
    ],
)
def test_shapes(topology: Topology, shape: list[int], nodes: int, message: str | None) -> None:
    try:
        why = simulation.problem(Simulation(library="ompi", topology=topology, shape=shape), nodes)
    except ValueError as error:
        why = str(error)
    assert why is None if message is None else why is not None and message in why


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("smpicc") is None:
        pytest.skip("SimGrid is not installed (Debian: libsimgrid-dev)")
    built = tmp_path_factory.mktemp("hops") / "hops"
    subprocess.run(["smpicc", "-O1", str(SOURCE), "-o", str(built)], check=True)
    return built


# What is on the way from node 0 to each other node, in latencies of a link; the last rank is a
# second one on node 0. In a fat tree a message goes up and down two links a level. Routers of one
# chassis of a dragonfly are joined by one link; to another group it goes over one link more, and
# arrives at the first router there.
@pytest.mark.mpi
@pytest.mark.parametrize(
    ("topology", "shape", "links"),
    [
        ("cluster", [], [2.5, 2.5, 2.5]),
        ("torus", [4, 2], [1, 2, 1, 1, 2, 3, 2]),
        ("fat-tree", [3, 2, 2], [2, 2, 4, 4, 4]),
        ("dragonfly", [2, 1, 2, 2], [2, 3, 3, 4, 4, 5, 5]),
    ],
)
def test_a_message_takes_as_long_as_its_links(
    tmp_path: Path, program: Path, topology: Topology, shape: list[int], links: list[float]
) -> None:
    nodes = len(links) + 1
    platform, hosts = tmp_path / "platform.xml", tmp_path / "hosts"
    machine = msgspec.structs.replace(LINKS, topology=topology, shape=shape)
    platform.write_text(simulation.platform(machine, Placement(nodes=nodes, ppn=2)))
    hosts.write_text(simulation.hostfile(machine, Placement(nodes=nodes, ppn=1)) + "node-0\n")
    words = ["smpirun", "-quiet", "-np", str(nodes + 1), "-platform", str(platform)]
    words += ["-hostfile", str(hosts), "--log=root.thresh:error"]
    words += ["--cfg=smpi/simulate-computation:no", "--cfg=smpi/lat-factor:0:1", str(program)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *far, near = (float(line) for line in done.stdout.split())
    # SMPI counts a latency half as much again: as the one link inside a node shows.
    unit = near / LINKS.near_latency_seconds * LINKS.latency_seconds
    assert near == pytest.approx(1.5e9 * LINKS.near_latency_seconds, rel=0.02)
    assert far == pytest.approx([unit * count for count in links], rel=0.02)
