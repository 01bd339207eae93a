"""What a replaced call costs over its replacement, written by hand with all arrays prepared.

Both run side by side in one program (replaced.c), so other load changes both. Instructions are
counted by callgrind on one rank, without those of the inner calls that both ways make."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from plumbline.settings.toolchain import Toolchain
from tests.bench.figure import Figure

HERE = Path(__file__).parent
REPLACEMENTS = {
    "Barrier": "barrier_as_allreduce",
    "Bcast": "bcast_as_allgatherv",
    "Gather": "gather_as_gatherv",
    "Scatter": "scatter_as_scatterv",
    "Allgather": "allgather_as_allgatherv",
    "Alltoall": "alltoall_as_alltoallv",
    "Gatherv": "gatherv_as_alltoallv",
    "Scatterv": "scatterv_as_alltoallv",
    "Allgatherv": "allgatherv_as_alltoallv",
    "Alltoallv": "alltoallv_as_ialltoallv_plus_wait",
    "Reduce": "reduce_as_allreduce",
    "Allreduce": "allreduce_as_reduce_plus_bcast",
    "Reduce_scatter": "reduce_scatter_as_reduce_plus_scatterv",
    "Reduce_scatter_block": "reduce_scatter_block_as_reduce_scatter",
    "Scan": "scan_as_exscan_plus_reduce_local",
    "Exscan": "exscan_as_scan_plus_sendrecv",
}
SIZES = [8, 64, 1024]
BATCHES, CALLS, COUNTED_CALLS = 1000, 50, 50
# The functions that both ways call: their instructions are not counted.
INNER = re.compile(
    r"p?mpi_(i?(all)?(reduce|gatherv?|scatterv?|toallv?)|i?bcast|i?barrier|i?(ex)?scan"
    r"|reduce_scatter(_block)?|reduce_local|sendrecv|wait)\b",
    re.IGNORECASE,
)


class Program:
    """The compiled program, and the environment in which the rules are active."""

    def __init__(self, toolchain: Toolchain, folder: Path) -> None:
        self.path, profile = folder / "replaced", folder / "profile"
        mpicc = str(toolchain.installation.mpicc)
        subprocess.run([mpicc, "-O2", HERE / "replaced.c", "-o", self.path], check=True)
        rules = (
            f"rule function=MPI_{function} variant={variant} nprocs=2-2 bytes=0-inf"
            for function, variant in REPLACEMENTS.items()
        )
        profile.write_text("\n".join(["plumbline-profile 1", *rules]) + "\n")
        self.own = dict(os.environ) | toolchain.family.environment(toolchain.installation)
        variables = {"LD_PRELOAD": toolchain.preload, "PLUMBLINE_PROFILE": profile}
        self.exports = [
            word for name, value in variables.items() for word in ("-x", f"{name}={value}")
        ]
        self.mpirun = [str(toolchain.installation.mpirun), "--oversubscribe"]

    def run(self, size: int, batches: int, calls: int, tool: list[str]) -> dict[str, list[float]]:
        """Run two ranks, rank 0 under `tool`; return the numbers by function."""
        words = [str(self.path), str(size), str(batches), str(calls)]
        rank = ["-np", "1", *self.exports]
        command = [*self.mpirun, *rank, *tool, *words, ":", *rank, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=self.own)
        rows = (line.split() for line in done.stdout.splitlines())
        return {row[0]: [float(word) for word in row[1:]] for row in rows}


def instructions(path: Path) -> int:
    """Return the instructions in one file of callgrind that belong to the program and to
    libplumbline.so, with the library functions that they call, but not with the inner calls."""
    total = 0
    here = callee_object = callee = ""
    called = False
    for line in path.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            here = callee_object = value
        elif key == "fn":
            callee_object = here
        elif key == "cob":
            callee_object = value
        elif key == "cfn":
            callee = value
        elif key == "calls":
            called = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            outside = called and not is_ours(callee_object)
            counted = not called or (outside and not is_free(callee))
            if is_ours(here) and counted:
                total += int(line.split()[1])
            called, callee_object = False, here
    return total


def is_ours(library: str) -> bool:
    return Path(library).name in ("libplumbline.so", "replaced")


def is_free(function: str) -> bool:
    """The inner calls, and main, from which callgrind is switched on and off."""
    return "libc_start" in function or INNER.match(function) is not None


def counted(program: Program, folder: Path) -> dict[str, tuple[float, float]]:
    """Return the instructions of a call by hand and of a replaced call, by function."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return {}
    output = folder / "callgrind"
    options = [
        "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured",
        "--dump-after=measured", "--dump-line=no", "--compress-strings=no", "--compress-pos=no",
    ]  # fmt: skip
    tool = [valgrind, *options, f"--callgrind-out-file={output}"]
    functions = list(program.run(64, 1, COUNTED_CALLS, tool))
    totals = [
        instructions(Path(f"{output}.{number}")) / COUNTED_CALLS
        for number in range(1, 2 * len(functions) + 1)
    ]
    return {name: (totals[2 * i], totals[2 * i + 1]) for i, name in enumerate(functions)}


def replaced(toolchain: Toolchain) -> Iterator[Figure]:
    """Return what a replaced call takes more than its replacement: time and instructions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = Program(toolchain, folder)
        runs = {size: program.run(size, BATCHES, CALLS, []) for size in SIZES}
        steps = counted(program, folder)
    for function, variant in REPLACEMENTS.items():
        more = [run[function][1] for run in runs.values()]
        of = ", ".join(
            f"{size} B {m:+.0f} on {run[function][0]:.0f}"
            for (size, run), m in zip(runs.items(), more, strict=True)
        )
        yield Figure(
            f"replaced {function}", statistics.median(more), "ns a call", f"{variant}: {of}"
        )
        if function in steps:
            by_hand, ours = steps[function]
            of = f"{ours:.0f} and {by_hand:.0f} at 64 B, inner calls not counted"
            yield Figure(f"replaced {function}", ours - by_hand, "instructions", of)
