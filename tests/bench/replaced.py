"""What a replaced call costs over its replacement, written by hand with all arrays prepared.

Both run side by side in one program (replaced.c), so other load changes both. Each function has a
run of its own, as inner calls go by the rules too. Instructions are counted by callgrind on one
rank, without those of the inner calls that both ways make."""

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
        self.path, self.folder = folder / "replaced", folder
        mpicc = str(toolchain.installation.mpicc)
        subprocess.run([mpicc, "-O2", HERE / "replaced.c", "-o", self.path], check=True)
        for function, variant in REPLACEMENTS.items():
            rule = f"rule function=MPI_{function} variant={variant} nprocs=2-2 bytes=0-inf"
            (folder / function).write_text(f"plumbline-profile 1\n{rule}\n")
        self.own = dict(os.environ) | toolchain.family.environment(toolchain.installation)
        self.preload = toolchain.preload
        self.mpirun = [str(toolchain.installation.mpirun), "--oversubscribe"]

    def run(
        self, function: str, size: int, batches: int, calls: int, tool: list[str]
    ) -> list[float]:
        """Run two ranks, rank 0 under `tool`; return the numbers of the function."""
        words = [str(self.path), str(size), str(batches), str(calls), function]
        variables = f"LD_PRELOAD={self.preload}", f"PLUMBLINE_PROFILE={self.folder / function}"
        rank = ["-np", "1", *(word for variable in variables for word in ("-x", variable))]
        command = [*self.mpirun, *rank, *tool, *words, ":", *rank, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=self.own)
        return [float(word) for word in done.stdout.split()[1:]]


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
    found = {}
    for function in REPLACEMENTS:
        program.run(function, 64, 1, COUNTED_CALLS, tool)
        ways = (instructions(Path(f"{output}.{number}")) / COUNTED_CALLS for number in (1, 2))
        found[function] = next(ways), next(ways)
    return found


def replaced(toolchain: Toolchain) -> Iterator[Figure]:
    """Return what a replaced call takes more than its replacement: time and instructions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = Program(toolchain, folder)
        runs = {
            function: {size: program.run(function, size, BATCHES, CALLS, []) for size in SIZES}
            for function in REPLACEMENTS
        }
        steps = counted(program, folder)
    for function, variant in REPLACEMENTS.items():
        more = [taken for _, taken in runs[function].values()]
        of = ", ".join(
            f"{size} B {taken:+.0f} on {hand:.0f}" for size, (hand, taken) in runs[function].items()
        )
        yield Figure(
            f"replaced {function}", statistics.median(more), "ns a call", f"{variant}: {of}"
        )
        if function in steps:
            by_hand, ours = steps[function]
            of = f"{ours:.0f} and {by_hand:.0f} at 64 B, inner calls not counted"
            yield Figure(f"replaced {function}", ours - by_hand, "instructions", of)
