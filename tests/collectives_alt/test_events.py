"""The counters of the preload library, read as events of PAPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.collectives_alt.programs import HERE, Build
from tests.collectives_alt.started import Started, rule

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def counters(build: Build) -> str:
    papi = subprocess.run(["pkg-config", "--cflags", "--libs", "papi"], capture_output=True)
    if papi.returncode != 0:
        pytest.skip("pkg-config does not know papi")
    command = ["mpicc", "-Wall", "-Werror", "counters.c", "-o", str(build.program("counters"))]
    flags = papi.stdout.decode().split()
    subprocess.run([*command, *flags], check=True, cwd=HERE, timeout=60)
    return "counters"


@pytest.mark.parametrize("start", ["before", "after"])
def test_events_and_the_report_agree(
    build: Build, tmp_path: Path, counters: str, start: str
) -> None:
    tree = rule("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", "nprocs=2-2 bytes=0-8")
    run = Started(build, tmp_path, tree, start, program=counters, nprocs=2)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    if run.done.stdout.startswith("skip"):
        pytest.skip(run.done.stdout)
    events = {name: int(value) for name, value in map(str.split, run.done.stdout.splitlines())}
    assert events == {
        "MPI_Allreduce.calls": 8,
        "MPI_Allreduce.bytes": 20,
        "MPI_Allreduce.replaced": 5,
        "MPI_Allreduce.fallen_through": 3,
        "MPI_Allreduce.crowded": 0,
        "MPI_Bcast.calls": 1,
        "MPI_Bcast.replaced": 0,
    }
    # The report has one call more: the one before PAPI_start.
    reported = run.function("MPI_Allreduce")
    assert (reported["calls"], reported["replaced"], reported["bytes"]) == (9, 6, 24)
    assert run.function("MPI_Bcast")["calls"] == 1


def test_a_program_without_papi_does_not_get_it(build: Build) -> None:
    needed = subprocess.run(
        ["ldd", build.preload], check=True, capture_output=True, text=True
    ).stdout
    assert "papi" not in needed and "libsde" not in needed
