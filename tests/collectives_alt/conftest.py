"""Builds the variants, the preload library and the test programs once a session, and the suite of
the variants once more with other sanitizers and for MPICH."""

from __future__ import annotations

import pytest

from tests.collectives_alt.programs import (
    ADDRESSES,
    MPICH,
    Build,
    compile_program,
    make,
    make_library,
    make_suite,
)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return make(tmp_path_factory.mktemp("collectives-alt"))


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Traps addresses out of bounds and undefined behaviour."""
    folder = tmp_path_factory.mktemp("collectives-alt-guarded")
    return make_suite(Build(folder, sanitizers=ADDRESSES))


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """For valgrind."""
    return make_suite(Build(tmp_path_factory.mktemp("collectives-alt-bare"), sanitizers=""))


@pytest.fixture(scope="session")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A folder, with nothing built yet."""
    wrapper = MPICH / "bin" / "mpicc"
    if not wrapper.exists():
        pytest.skip("no MPICH in build/mpis: `make setup-mpis` fetches it")
    return Build(tmp_path_factory.mktemp("collectives-alt-mpich"), mpicc=str(wrapper))


@pytest.fixture(scope="session")
def under_mpich(mpich: Build) -> Build:
    return make_suite(mpich)


@pytest.fixture(scope="session")
def preload_under_mpich(mpich: Build) -> Build:
    """The preload library, and programs that know nothing of it."""
    make_library(mpich, mpich.preload, "-Werror")
    for name in ("operators", "refused", "crowd", "farewell", "jobs"):
        compile_program(mpich, name, [f"{name}.c"], linked=False)
    return mpich
