"""The suite of the variants on all combinations of the factors: hours. `make test-variants`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build, mpiexec, mpirun
from tests.collectives_alt.test_variants import GARBAGE, NO_LEAKS, RANKS, passed, under_valgrind

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(4 * 3600)]
HOURS = 3600 * 3.9


@pytest.mark.parametrize("nprocs", RANKS)
def test_all_combinations(build: Build, nprocs: int) -> None:
    passed(mpirun(nprocs, build.program("variants"), "--full", env=GARBAGE, timeout=HOURS))


@pytest.mark.parametrize("nprocs", RANKS)
def test_addresses(guarded: Build, nprocs: int) -> None:
    """All combinations on few ranks, one in eleven on many."""
    every = "1" if nprocs <= 4 else "11"
    options = ("--full", "--every", every)
    passed(mpirun(nprocs, guarded.program("variants"), *options, env=NO_LEAKS, timeout=HOURS))


@pytest.mark.parametrize("nprocs", RANKS)
def test_large(guarded: Build, nprocs: int) -> None:
    passed(mpirun(nprocs, guarded.program("variants"), "--large", env=NO_LEAKS, timeout=HOURS))


@pytest.mark.parametrize("nprocs", [1, 2, 3, 4])
def test_valgrind(build: Build, tmp_path: Path, nprocs: int) -> None:
    """Every pair of factors."""
    under_valgrind(build, tmp_path, nprocs, timeout=HOURS)


@pytest.mark.parametrize("options", [("--full",), ("--large",)])
def test_mpich(under_mpich: Build, options: tuple[str, ...]) -> None:
    """From 32 KiB on the ring of MPICH 5.0.2 for Allgatherv works in pieces of so many elements of
    the rank's own type. Where ranks have types of different extent, it ends with an error."""
    whole = {"MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE": str(2**30)}
    program = under_mpich.program("variants")
    passed(mpiexec(2, program, *options, env=GARBAGE | whole, timeout=HOURS))
