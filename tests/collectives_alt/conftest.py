"""Builds the variants, the preload library and the test programs once a session, and the suite of
the variants once more with other sanitizers and for MPICH."""

from __future__ import annotations

import pytest

from tests.collectives_alt.programs import (
    ADDRESSES,
    MPICH,
    ROOT,
    Build,
    compile_program,
    make,
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
def under_mpich(tmp_path_factory: pytest.TempPathFactory) -> Build:
    wrapper = MPICH / "bin" / "mpicc"
    if not wrapper.exists():
        pytest.skip("no MPICH in build/mpis: `make setup-mpis` fetches it")
    folder = tmp_path_factory.mktemp("collectives-alt-mpich")
    return make_suite(Build(folder, mpicc=str(wrapper)))


@pytest.fixture(scope="session")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The preload library that `make setup-mpis` builds, and programs for it."""
    library = next(ROOT.glob("build/mpich-5.0.*/libplumbline.so"), None)
    wrapper = MPICH / "bin" / "mpicc"
    if library is None or not wrapper.exists():
        pytest.skip("no MPICH in build/mpis: `make setup-mpis` fetches it")
    build = Build(tmp_path_factory.mktemp("mpich"), mpicc=str(wrapper))
    build.preload.symlink_to(library)
    for name in ("crowd", "farewell", "jobs"):
        compile_program(build, name, [f"{name}.c"], linked=False)
    return build
