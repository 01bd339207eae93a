"""Measure neighbourhood collectives on simulated clusters: stencils and a sparse matrix.

Each line of the table is one exchange. The direct variant sends one message for each edge, as
libraries do; SimGrid itself has no neighbourhood collectives to measure beside it. Simulated times
are exact and do not depend on the load of this machine.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from plumbline.launch.simulated import Simulated
from plumbline.launch.simulation import Simulation
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system.placement import Placement

HERE = Path(__file__).parent
SUITE = HERE.parent / "collectives_alt"
ROOM = HERE.parents[1] / "collectives-alt"
MATRIX = SUITE / "cases" / "matrix.txt"
# Function, graph, bytes of an element. The matrix has so many vectors of doubles.
EXCHANGES = (
    ("alltoall", "5", (64, 1024, 16384)),
    ("alltoall", "7", (64, 1024, 16384)),
    ("alltoall", "27", (64, 1024, 16384)),
    ("allgather", "27", (64, 1024, 16384)),
    ("alltoallv", str(MATRIX), (8, 64, 512)),
    ("allgatherv", str(MATRIX), (8, 64, 512)),
)


class Program:
    """The compiled program, and simulated nodes that run it."""

    def __init__(self, toolchain: Toolchain, folder: Path, nodes: int, ppn: int) -> None:
        self._toolchain, self._folder = toolchain, folder
        self._nodes = Simulated(Simulation(library="ompi"))
        self._placement = Placement(nodes=nodes, ppn=ppn)
        self._path = folder / "neighbors"
        library = toolchain.probe.parent / "libcollectives-alt.a"
        sources = [HERE / "neighbors.c", SUITE / "graphs.c", SUITE / "draw.c", library]
        options = ["-O2", "-D_GNU_SOURCE", f"-I{SUITE}", f"-I{ROOM}", f"-I{ROOM / 'common'}"]
        subprocess.run(["smpicc", *options, *sources, "-lm", "-o", self._path], check=True)

    def times(self, function: str, graph: str, size: int, specs: Sequence[str]) -> list[float]:
        """Return the microseconds of a call with each of the variants."""
        names = [f"neighbor_{function}_{spec}" for spec in specs]
        program = [str(self._path), f"MPI_Neighbor_{function}", graph, str(size), *names]
        words = self._nodes.command(
            self._toolchain.installation, program, self._placement, self._folder
        )
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        return [float(line.split()[1]) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--ppn", type=int, default=8)
    options = parser.parse_args()
    placement = {"simulate": "ompi", "nprocs": options.nodes * options.ppn, "nodes": options.nodes}
    toolchain = find_toolchain(settings=load(None, placement))
    specs = ["linear", "node_aware:combined_bytes=16384"]
    print(f"{options.nodes} nodes of {options.ppn} ranks; microseconds of a call")
    print("| function | graph | bytes | direct | node-aware | direct over node-aware |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program = Program(toolchain, Path(folder), options.nodes, options.ppn)
        for function, graph, sizes in EXCHANGES:
            name = "matrix" if graph == str(MATRIX) else f"{graph} points"
            for size in sizes:
                direct, combined = program.times(function, graph, size, specs)
                print(
                    f"| Neighbor_{function} | {name} | {size} | {direct:.1f} | {combined:.1f} "
                    f"| {direct / combined:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
