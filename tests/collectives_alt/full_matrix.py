"""The suite of the variants on all combinations of the factors, and with every MPI library on 1 to
13 ranks: hours. `make test-variants`."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.libraries import Family, Installation
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.libraries.mpich import Mpich
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system.placement import PLAIN, Placement
from tests.collectives_alt.programs import Build, make, mpiexec, mpirun
from tests.collectives_alt.test_neighbors import MATRIX
from tests.collectives_alt.test_variants import (
    GARBAGE,
    NO_LEAKS,
    RANKS,
    all_ok,
    passed,
    under_valgrind,
)
from tests.tuner.families.installations import ON_PATH, real
from tests.tuner.families.started import started

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(4 * 3600)]
HOURS = 3600 * 3.9

# By the name of their folder in build/mpis.
LIBRARIES: dict[str, Family] = {
    ON_PATH: OpenMpi(),
    "openmpi-5.0": OpenMpi(),
    "mpich-5.0": Mpich(),
    "impi-2021": IntelMpi(),
}
PROGRAMS = ("variants", "alltoallw", "neighbors", "shared")
# Presets of Intel MPI 2021.17.2 in place of those that have faults. Seen with plain calls of it:
# preset 2 of Gather destroys the heap when a type's lower bound is not 0; preset 5 of Allgather
# mixes up blocks when ranks have different types of one signature; with such types, preset 3 of
# Iallgatherv hangs when some ranks have nothing to send. It takes the first two for short blocks
# on 5 ranks and more, the third for long ones.
WITHOUT_FAULTS = {
    "I_MPI_ADJUST_GATHER": "3",
    "I_MPI_ADJUST_ALLGATHER": "1",
    "I_MPI_ADJUST_IALLGATHERV": "1",
}


@pytest.fixture(scope="session", params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> tuple[Family, Installation, Build]:
    family = LIBRARIES[request.param]
    found = real(family, request.param)
    # By the name that `make build` uses: under another one everything is compiled again.
    mpicc = "mpicc" if request.param == ON_PATH else str(found.mpicc)
    return family, found, make(*PROGRAMS, mpicc=mpicc)


@pytest.mark.parametrize("nprocs", range(1, 14))
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_library(
    library: tuple[Family, Installation, Build], program: str, nprocs: int
) -> None:
    """Every pair of factors; neighbours on three nodes; streams of calls in shared memory."""
    family, found, build = library
    extra = GARBAGE | (WITHOUT_FAULTS if family.name == "intelmpi" else {})
    nodes = ("aabbc" * 3)[:nprocs]
    arguments = {"neighbors": [str(MATRIX), *nodes], "shared": ["400", "1"]}
    placement = Placement(nodes=1, ppn=nprocs, bind=PLAIN, oversubscribed=True)
    words = [str(build.program(program)), *arguments.get(program, [])]
    done = started(family, found, placement, words, extra, seconds=HOURS)
    assert done.status == 0, done.stdout + done.stderr
    if program == "variants":
        all_ok(done.stdout)


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
