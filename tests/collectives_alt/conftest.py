"""Builds the variants, the preload library and the test programs once a session, and the suite of
the variants once more with other sanitizers and for MPICH. Prints the table of the applications."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.collectives_alt.applications import ALL_TURNS, APPLICATIONS
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
    for name in ("elements", "refused", "crowd", "farewell", "jobs"):
        compile_program(mpich, name, [f"{name}.c"], linked=False)
    return mpich


TABLE = pytest.StashKey[dict[str, dict[str, str]]]()


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str, str, str], None]:
    """Takes a program, a variant, and whether the program saw a difference."""
    table = request.config.stash.setdefault(TABLE, {})
    return lambda program, variant, word: table.setdefault(variant, {}).update({program: word})


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """The table of `make test-applications`; `-` where the program does not call the function."""
    table = config.stash.get(TABLE, {})
    if not ALL_TURNS or not table:
        return
    names = list(APPLICATIONS)
    width = max(map(len, table))
    terminalreporter.section("with and without libplumbline.so")
    head = ("variant", dict(zip(names, names, strict=True)))
    for variant, row in [head, *sorted(table.items())]:
        cells = "".join(f"{row.get(name, '-'):<13}" for name in names)
        terminalreporter.line(f"{variant:<{width}}  {cells}".rstrip())
