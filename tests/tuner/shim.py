"""Builds the tool shim.c: a library to preload that makes some calls of MPI slower."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
FUNCTIONS = (
    "MPI_Allreduce",
    "MPI_Reduce",
    "MPI_Gather",
    "MPI_Bcast",
    "MPI_Allgather",
    "MPI_Scan",
    "MPI_Barrier",
)


def build(
    folder: Path,
    mpicc: str | Path,
    slow: Mapping[str, tuple[int, int, int]],
    when: tuple[str, int] | None = None,
) -> Path:
    """The library in `folder`: calls of the functions named take so many nanoseconds more on every
    rank, from so many to so many bytes (a plan's `bytes`): {"MPI_Bcast": (1024, 4096, 50_000)}.
    `when`: a variable and so many per cent; while it is set, one start in two waits longer by
    that."""
    strangers = set(slow) - set(FUNCTIONS)
    if strangers:
        raise ValueError(f"shim.c has no {', '.join(sorted(strangers))}")
    target = folder / "shim.so"
    words = [
        f"-DSHIM_{name.removeprefix('MPI_').upper()}={{{low},{high},{ns}}}"
        for name, (low, high, ns) in slow.items()
    ]
    if when is not None:
        words += [f'-DSHIM_WHEN="{when[0]}"', f"-DSHIM_PERCENT={when[1]}"]
    warnings = ("-Wall", "-Wextra", "-Wshadow", "-Werror")
    subprocess.run(
        [mpicc, "-std=gnu11", "-O2", *warnings, "-shared", "-fPIC", *words, SOURCE, "-o", target],
        check=True,
        timeout=60,
    )
    return target
