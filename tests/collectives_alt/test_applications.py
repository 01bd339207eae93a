"""Unmodified programs with every variant forced in turn: Debian's hpcc, which checks its own
results, and the plain program of this folder, which calls every function.

A turn takes one variant of every function at a time. By default these are the first turns; `make
test-applications` takes all, so that each variant has had its own."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.collectives_alt.programs import HERE, Build, mpirun
from tests.collectives_alt.started import Started, catalogue, rule, turns

pytestmark = pytest.mark.mpi

NPROCS = 4
HPCC = shutil.which("hpcc")
# What hpcc calls, as the report of the preload library says.
OF_HPCC = {
    *("MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Alltoall", "MPI_Reduce", "MPI_Allreduce"),
}
ALL_TURNS = os.environ.get("PLUMBLINE_ALL_TURNS") == "1"
FEW = 2


def taken(build: Build) -> list[dict[str, str]]:
    found = turns(build)
    return found if ALL_TURNS else found[:FEW]


def unreplaced(run: Started, chosen: dict[str, str], functions: set[str]) -> set[str]:
    """The variants of these functions that replaced no call."""
    replaced = {one["variant"].split(":")[0] for one in run.report["rules"] if one["replaced"] > 0}
    return {variant for function, variant in chosen.items() if function in functions} - replaced


def complaints(output: str) -> list[str]:
    """What the checks in hpcc's output file say against its results."""
    found = [line for line in output.splitlines() if re.search("FAILED|INVALID", line, re.I)]
    counted = re.findall(r"^.*?(\d+) tests completed and (passed|failed)", output, re.MULTILINE)
    if counted != [("5", "passed"), ("0", "failed"), ("1", "passed"), ("0", "failed")]:
        found.append(f"residual checks: {counted}")
    errors = re.findall(r"^Found (\d+) errors in \d+ locations \((\w+)\)", output, re.MULTILINE)
    if errors != 4 * [("0", "passed")]:
        found.append(f"random accesses: {errors}")
    if set(re.findall(r"^Node\(s\) with error (\d+)", output, re.MULTILINE)) != {"0"}:
        found.append("nodes with errors")
    for name in ("PTRANS_residual", "MPIRandomAccess_Errors", "MPIRandomAccess_LCG_Errors"):
        if f"\n{name}=0\n" not in output:
            found.append(name)
    accuracy = re.search(r"^MPIFFT_maxErr=(.*)$", output, re.MULTILINE)
    if accuracy is None or not float(accuracy[1]) < 1e-13:
        found.append(f"MPIFFT_maxErr: {accuracy and accuracy[1]}")
    for line in ("Success=1", "Solution Validates: avg error", "End of HPC Challenge tests."):
        if f"\n{line}" not in output:
            found.append(f"no {line!r}")
    return [line for line in found if "0 tests completed and failed" not in line]


def hpcc(build: Build, folder: Path, rules: str | None) -> tuple[Started, str]:
    assert HPCC is not None
    folder.mkdir(exist_ok=True)
    shutil.copy(HERE / "hpccinf.txt", folder)
    run = Started(build, folder, rules, program=HPCC, nprocs=NPROCS)
    output = folder / "hpccoutf.txt"
    return run, output.read_text() if output.exists() else ""


@pytest.mark.slow
@pytest.mark.timeout(1200 if ALL_TURNS else 300)
@pytest.mark.skipif(not HPCC, reason="no hpcc; install the Debian package")
def test_hpcc_passes_its_own_checks(build: Build, tmp_path: Path) -> None:
    plain, output = hpcc(build, tmp_path / "plain", None)
    assert {one["function"] for one in plain.report["functions"]} == OF_HPCC
    assert complaints(output) == []
    for number, chosen in enumerate(taken(build)):
        rules = "\n".join(rule(function, chosen[function]) for function in sorted(OF_HPCC))
        run, output = hpcc(build, tmp_path / str(number), rules)
        assert (run.done.returncode, run.done.stderr) == (0, ""), chosen
        assert complaints(output) == [], chosen
        assert unreplaced(run, chosen, OF_HPCC) == set()


@pytest.mark.skipif(not HPCC, reason="no hpcc; install the Debian package")
def test_the_checks_of_hpcc_can_fail(build: Build, tmp_path: Path) -> None:
    _, output = hpcc(build, tmp_path, None)
    assert complaints(output) == []
    for old, new in (
        ("... PASSED", "... FAILED"),
        ("Success=1", "Success=0"),
        ("Found 0 errors in 8192", "Found 3 errors in 8192"),
        ("0 tests completed and failed", "2 tests completed and failed"),
        ("Node(s) with error 0", "Node(s) with error 1"),
        ("PTRANS_residual=0", "PTRANS_residual=0.5"),
        ("MPIFFT_maxErr=", "MPIFFT_maxErr=1\n"),
    ):
        assert old in output
        assert complaints(output.replace(old, new)) != [], old
    assert complaints("") != []


@pytest.mark.slow
@pytest.mark.timeout(1200 if ALL_TURNS else 300)
def test_the_plain_program_gets_the_same_results(build: Build, tmp_path: Path) -> None:
    plain = mpirun(NPROCS, build.program("application"), "all")
    assert plain.returncode == 0
    for chosen in taken(build):
        rules = "\n".join(rule(function, variant) for function, variant in chosen.items())
        run = Started(build, tmp_path, rules, "all", nprocs=NPROCS)
        assert (run.done.returncode, run.done.stderr) == (0, ""), chosen
        assert run.done.stdout == plain.stdout, chosen
        assert unreplaced(run, chosen, set(chosen)) == set()


def test_every_variant_has_a_turn(build: Build) -> None:
    had = {variant for chosen in turns(build) for variant in chosen.values()}
    said = {name: last for name, *_, last in catalogue(build)}
    assert set(said.values()) == {"deployable", "undeployable"}
    assert said.keys() - had == {name for name, one in said.items() if one == "undeployable"}
    assert {function for chosen in turns(build) for function in chosen} >= OF_HPCC
