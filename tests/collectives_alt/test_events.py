"""The counters of the preload library, read as events of PAPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.collectives_alt.programs import HERE, Build
from tests.collectives_alt.started import Started, rule

pytestmark = pytest.mark.mpi


EXAMPLE = HERE.parents[1] / "docs" / "examples" / "events.c"


@pytest.fixture(scope="module")
def counters(build: Build) -> str:
    return _compiled(build, HERE / "counters.c")


def _compiled(build: Build, source: Path) -> str:
    papi = subprocess.run(["pkg-config", "--cflags", "--libs", "papi"], capture_output=True)
    if papi.returncode != 0:
        pytest.skip("pkg-config does not know papi")
    command = ["mpicc", "-Wall", "-Werror", str(source), "-o", str(build.program(source.stem))]
    subprocess.run([*command, *papi.stdout.decode().split()], check=True, timeout=60)
    return source.stem


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


def test_the_example_reads_its_own_calls(build: Build, tmp_path: Path, counters: str) -> None:
    """docs/examples/events.c, where PAPI has the component (counters says so)."""
    tree = rule("MPI_Allreduce", "allreduce_as_reduce_plus_bcast")
    if Started(build, tmp_path, tree, program=counters, nprocs=1).done.stdout.startswith("skip"):
        pytest.skip("PAPI has no component sde")
    run = Started(build, tmp_path, tree, program=_compiled(build, EXAMPLE), nprocs=2)
    assert (run.done.returncode, run.done.stdout) == (0, "10 of 10 calls replaced\n")


def test_a_program_without_papi_does_not_get_it(build: Build) -> None:
    needed = subprocess.run(
        ["ldd", build.preload], check=True, capture_output=True, text=True
    ).stdout
    assert "papi" not in needed and "libsde" not in needed
