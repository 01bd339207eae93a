"""The test programs, brought up to date. Prints the table of the applications."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.collectives_alt.applications import ALL_TURNS, APPLICATIONS
from tests.collectives_alt.programs import ADDRESSES, MPICH, Build, make


@pytest.fixture(scope="session")
def build() -> Build:
    """The programs check their own sources for undefined behaviour; the variants are those that
    users get, which `guarded` checks."""
    return make()


@pytest.fixture(scope="session")
def guarded() -> Build:
    """Traps addresses out of bounds and undefined behaviour."""
    return make("variants", sanitizers=ADDRESSES, kind="tests-guarded")


@pytest.fixture(scope="session")
def under_mpich() -> Build:
    wrapper = MPICH / "bin" / "mpicc"
    if not wrapper.exists():
        pytest.skip("no MPICH in build/mpis: `make setup-mpis` fetches it")
    programs = (
        "variants",
        "counts",
        "elements",
        "refused",
        "crowd",
        "farewell",
        "jobs",
        "alltoallw",
    )
    return make(*programs, mpicc=str(wrapper), sanitizers="")  # `build` has them


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
