"""What of a program's arguments a variant gets: operations of the user, and calls that the library
refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build, mpiexec, mpirun
from tests.collectives_alt.started import Started, catalogue, forced, profile_text, turns
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

BUILTIN_OP = 32
VECTORS = {"MPI_Reduce", "MPI_Allreduce", "MPI_Scan", "MPI_Exscan"}


def test_an_operation_sees_what_the_program_passed(build: Build, tmp_path: Path) -> None:
    """With every variant: no element more, as padding would bring, and no fewer."""
    bears = {name: not int(text) & BUILTIN_OP for name, _, _, text, _ in catalogue(build)}
    assert set(bears.values()) == {True, False}
    for chosen in turns(build):
        taken = {function: chosen[function] for function in VECTORS}
        run = Started(build, tmp_path, forced(taken), program="elements")
        assert (run.done.returncode, run.done.stdout, run.done.stderr) == (0, "ok\n", ""), taken
        for one in run.report["rules"]:
            name = one["variant"].split(":")[0]
            # The program's last Allreduce has an operation of MPI's own.
            most = 1 if one["function"] == "MPI_Allreduce" else 0
            assert one["replaced"] > most if bears[name] else one["replaced"] == most, name


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(line for line in done.stdout.splitlines() if ": handler " in line)


def without_truncations(those: list[str]) -> list[str]:
    """MPICH gives the truncation of a Gather to the program's error handler and then returns
    success, and does not see that of a Gatherv. A variant returns the error of both."""
    return [line for line in those if "receives less than it sends" not in line]


def profile(folder: Path, chosen: dict[str, str]) -> Path:
    path = folder / "all.profile"
    path.write_text(profile_text(forced(chosen)) + "\n")
    return path


@pytest.mark.parametrize("turn", [0, 5, -1])
def test_what_the_library_refuses_reaches_it(build: Build, tmp_path: Path, turn: int) -> None:
    """The program gets the same errors, from the same handlers, as without us."""
    plain = lines(mpirun(2, build.program("refused"), timeout=60))
    assert len(plain) > 150
    assert sum("handler 1" in line for line in plain) > len(plain) / 2
    path = profile(tmp_path, turns(build)[turn])
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_PROFILE": str(path)}
    assert lines(mpirun(2, build.program("refused"), env=env, timeout=60)) == plain


@pytest.mark.parametrize("nprocs", by_default([2], [3]))
def test_a_root_hears_that_its_own_block_does_not_fit(
    build: Build, tmp_path: Path, nprocs: int
) -> None:
    """With every variant of a function with a root, a truncation is reported. A Scatter of Open MPI
    cannot be compared: its root returns before it sends, and the others wait."""
    words = (nprocs, build.program("refused"), "root receives")
    plain = lines(mpirun(*words, timeout=60))
    truncated = [line for line in plain if "less than it sends: handler 1" in line]
    assert [line.partition(",")[0] for line in truncated] == ["0 MPI_Gather", "0 MPI_Gatherv"]
    for chosen in turns(build):
        path = profile(tmp_path, chosen)
        env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_PROFILE": str(path)}
        assert lines(mpirun(*words, env=env, timeout=60)) == plain, chosen


@pytest.mark.parametrize("turn", [0, 5])
def test_the_same_under_mpich(build: Build, under_mpich: Build, tmp_path: Path, turn: int) -> None:
    program, chosen = under_mpich.program("refused"), turns(build)[turn]
    plain = lines(mpiexec(2, program, env={}, timeout=60))
    assert sum("handler 1" in line for line in plain) > len(plain) / 2
    path = profile(tmp_path, chosen)
    env = {"LD_PRELOAD": str(under_mpich.preload), "PLUMBLINE_PROFILE": str(path)}
    replaced = lines(mpiexec(2, program, env=env, timeout=60))
    assert without_truncations(replaced) == without_truncations(plain)
    truncated = {line.partition(": handler 1, class 14")[0] for line in plain if "class 14" in line}
    assert truncated
    for line in replaced:
        if line.partition(": ")[0] in truncated:
            assert "handler 1, class 14, returned 14" in line
    for function in VECTORS:  # an operation that sees more elements says so
        path = profile(tmp_path, {function: chosen[function]})
        done = mpiexec(2, under_mpich.program("elements"), env=env, timeout=60)
        assert (done.returncode, done.stdout) == (0, "ok\n"), function
