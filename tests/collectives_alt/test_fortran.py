"""libplumbline.so under Fortran programs: mpif.h, `use mpi`, `use mpi_f08`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from plumbline.results import profiling
from tests.collectives_alt.programs import HERE, Build, mpirun
from tests.collectives_alt.started import Started, forced, rule, turns

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        not shutil.which("mpif90") or not shutil.which("gfortran"),
        reason="no Fortran compiler; install gfortran",
    ),
]

BINDINGS = {"mpif.h": 1, "mpi": 2, "mpi_f08": 3}
NPROCS = 3


@pytest.fixture(scope="module", params=BINDINGS)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    number = BINDINGS[request.param]
    name = f"fortran{number}"
    # With mpif.h a compiler sees calls of one subroutine with arguments of many types.
    options = ["-fallow-argument-mismatch", "-w"] if number == 1 else []
    modules = tmp_path_factory.mktemp(name)
    command = ["mpif90", "-cpp", f"-DBINDING={number}", *options, "-O1", "-g", f"-J{modules}"]
    # Of this worker alone: others may run theirs while it is written.
    path = str(modules / name)
    subprocess.run([*command, "fortran.F90", "-o", path], check=True, cwd=HERE, timeout=100)
    return path


GOOD = (0, "good 95\n", "")


def test_without_rules(build: Build, program: str) -> None:
    plain = mpirun(NPROCS, build.program(program), "init")
    assert (plain.returncode, plain.stdout) == GOOD[:2], plain.stderr


@pytest.mark.parametrize(("turn", "start"), [(0, "init"), (1, "thread"), (-1, "init")])
def test_replaces_every_function(
    build: Build, tmp_path: Path, program: str, turn: int, start: str
) -> None:
    chosen = turns(build)[turn]
    run = Started(build, tmp_path, forced(chosen), start, program=program, nprocs=NPROCS)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == GOOD
    assert len(chosen) == 16
    assert {one["variant"].split(":")[0] for one in run.report["rules"] if one["replaced"]} == set(
        chosen.values()
    )


def test_calls_without_a_rule_are_counted(build: Build, tmp_path: Path, program: str) -> None:
    run = Started(build, tmp_path, None, program=program, nprocs=NPROCS)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == GOOD
    assert len(run.report["functions"]) == 17


def test_datatypes_in_tables(build: Build, tmp_path: Path, program: str) -> None:
    rules = rule("MPI_Alltoallw", "alltoallw_pairwise")
    run = Started(build, tmp_path, rules, program=program, nprocs=NPROCS)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == GOOD
    counted = run.function("MPI_Alltoallw")
    assert (counted["calls"], counted["replaced"]) == (2, 2)


def test_calls_are_recorded(build: Build, tmp_path: Path, program: str) -> None:
    """As many as the counters of rank 0 say, which every rank makes."""
    env = {"PLUMBLINE_CALLS": str(tmp_path)}
    run = Started(build, tmp_path, None, program=program, nprocs=NPROCS, env=env)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == GOOD
    ranks = profiling.ranks(tmp_path)
    assert len(ranks) == NPROCS and all(one.finished for one in ranks)
    for one in ranks:
        calls: dict[str, int] = {}
        for (function, *_), (number, *_) in one.calls.items():
            calls[function] = calls.get(function, 0) + number
        assert calls == {one["function"]: one["calls"] for one in run.report["functions"]}


def test_a_job_with_other_rules(build: Build, tmp_path: Path) -> None:
    command = ["mpif90", "-w", "-fallow-argument-mismatch", "jobs.F90"]
    program = build.program("jobs_fortran")
    subprocess.run([*command, "-o", str(program)], check=True, cwd=HERE, timeout=100)
    rules = rule("MPI_Allreduce", "allreduce_recursive_doubling")
    other = str(build.program("jobs"))
    run = Started(build, tmp_path, rules, other, program="jobs_fortran", nprocs=2, timeout=40)
    assert (run.done.returncode, run.done.stdout.split()) == (0, ["ok"])
    counted = run.function("MPI_Allreduce")
    assert (counted["calls"], counted["replaced"]) == (6, 0)
