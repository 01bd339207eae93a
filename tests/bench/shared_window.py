"""Variants in shared memory beside an independent program that does the same by a shared window
(shared_window.c), and beside the library: in turn in one run, in a loop and in a stream."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from plumbline.settings.toolchain import Toolchain
from tests.bench.figure import Figure

HERE = Path(__file__).parent
FUNCTIONS = ("MPI_Barrier", "MPI_Bcast", "MPI_Allgather", "MPI_Allreduce")
SIZES = [8, 64, 512, 4096, 32768]
BATCHES, CALLS = 300, 20


class Times:
    """Nanoseconds a call: of the window, of the variant, of the library."""

    def __init__(self, window: float, ours: float, library: float) -> None:
        self.window, self.ours, self.library = window, ours, library

    def text(self) -> str:
        return (
            f"{self.ours:.0f} ns, window {self.window:.0f}, library {self.library:.0f}: "
            f"{self.ours / self.library:.2f} of the library"
        )


class Program:
    def __init__(self, toolchain: Toolchain, folder: Path) -> None:
        self._path, self._profile = folder / "shared_window", folder / "profile"
        mpicc = str(toolchain.installation.mpicc)
        subprocess.run([mpicc, "-O2", HERE / "shared_window.c", "-o", self._path], check=True)
        rules = [
            f"rule function={name} nprocs=2-inf bytes=0-inf "
            f"variant={name.removeprefix('MPI_').lower()}_shared_memory"
            for name in FUNCTIONS
        ]
        self._profile.write_text("\n".join(["plumbline-profile 1", *rules]) + "\n")
        self._own = dict(os.environ) | toolchain.family.environment(toolchain.installation)
        self._own |= {"LD_PRELOAD": str(toolchain.preload), "PLUMBLINE_PROFILE": str(self._profile)}
        self._mpirun = [str(toolchain.installation.mpirun), "--oversubscribe"]

    def run(self, function: str, size: int, nprocs: int) -> tuple[Times, Times]:
        """Return the times in the loop and in the stream."""
        words = [function, str(size), str(BATCHES), str(CALLS)]
        passed = [word for name in ("LD_PRELOAD", "PLUMBLINE_PROFILE") for word in ("-x", name)]
        command = [*self._mpirun, "-np", str(nprocs), *passed, str(self._path), *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=self._own)
        taken = [float(word) for word in done.stdout.split()]
        return Times(*taken[:3]), Times(*taken[3:])


def shared_window(toolchain: Toolchain) -> Iterator[Figure]:
    """Return the variants' times over those of the window, with 2 and 4 ranks."""
    with tempfile.TemporaryDirectory() as name:
        program = Program(toolchain, Path(name))
        for nprocs in (2, 4):
            for function in FUNCTIONS:
                for size in SIZES if function != "MPI_Barrier" else [0]:
                    for use, times in zip(
                        ("loop", "stream"), program.run(function, size, nprocs), strict=True
                    ):
                        what = f"{nprocs} ranks {function} {size} B {use}"
                        yield Figure(what, times.ours / times.window, "windows", times.text())
