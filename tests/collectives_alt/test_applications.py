"""Unmodified programs with every variant forced in turn (applications.py).

A turn takes one variant of every function at a time. By default these are the first turns; `make
test-applications` takes all, so that each variant has had its own, and prints for each program and
variant whether the program saw a difference."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collectives_alt import applications
from tests.collectives_alt.applications import ALL_TURNS, APPLICATIONS, Application, Fuzzer, Outcome
from tests.collectives_alt.programs import HERE, Build
from tests.collectives_alt.started import catalogue, forced, rule, turns
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

# Turns that are part of `make test`.
FEW = {"application": 2, "fuzz": 1, "hpcc": 1, "mpi4py": 1, "IMB": 1}
# Functions that the probe measures, and others, by symbol.
MEASURED = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block"),
    *("scan", "exscan"),
)
UNMEASURED = (
    *("alltoallw", "neighbor_allgather", "neighbor_allgatherv"),
    *("neighbor_alltoall", "neighbor_alltoallv"),
)
OF_APPLICATION = {f"MPI_{one.capitalize()}" for one in MEASURED}
OF_HPCC = {
    *("MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Alltoall", "MPI_Reduce", "MPI_Allreduce")
}
# The functions that programs call, if not all.
CALLED = {
    "hpcc": OF_HPCC,
    "IMB": {f"MPI_{one}" for one in applications.Imb.benchmarks},
    "application": OF_APPLICATION,
    "mpi4py": OF_APPLICATION,
}
Note = Callable[[str, str, str], None]


def differences(
    program: Application, build: Build, folder: Path, plain: Outcome, chosen: dict[str, str]
) -> tuple[set[str], list[str]]:
    """The variants that replaced calls, and what is not as without them."""
    run = program.run(build, folder, forced(chosen))
    found = list(run.wrong)
    if run.said != plain.said and not found:
        found.append(f"{run.said} in place of {plain.said}")
    return set(run.replaced), found


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600 if ALL_TURNS else 300)
@pytest.mark.parametrize(
    "name",
    APPLICATIONS if ALL_TURNS else by_default(sorted({*APPLICATIONS} - {"mpi4py"}), ["mpi4py"]),
)
def test_no_program_sees_a_difference(build: Build, tmp_path: Path, note: Note, name: str) -> None:
    program = APPLICATIONS[name]
    if program.lacks():
        pytest.skip(program.lacks())
    plain = program.run(build, tmp_path, None)
    assert plain.wrong == ()
    found: dict[str, list[str]] = {}
    for chosen in turns(build, "all")[: None if ALL_TURNS else FEW[name]]:
        replaced, wrong = differences(program, build, tmp_path, plain, chosen)
        called = {v for f, v in chosen.items() if f in CALLED.get(name, chosen.keys())}
        if not wrong:
            assert called - replaced == set(), "replaced no call"
        for function, variant in chosen.items() if wrong else ():  # which of them it was
            alone = differences(program, build, tmp_path, plain, {function: variant})[1]
            found |= {variant: alone} if alone else {}
        if wrong and not found.keys() & set(chosen.values()):
            found[" + ".join(sorted(called))] = wrong
        for variant in called:
            note(name, variant, "differs" if variant in found else "alike")
    assert found == {}


def test_every_variant_has_a_turn(build: Build) -> None:
    had = {variant for chosen in turns(build, "all") for variant in chosen.values()}
    said = {name: last for name, *_, last in catalogue(build, "all")}
    assert set(said.values()) == {"deployable", "undeployable"}
    assert said.keys() - had == {name for name, one in said.items() if one == "undeployable"}
    functions = {function for chosen in turns(build, "all") for function in chosen}
    assert functions == {f"MPI_{one.capitalize()}" for one in MEASURED + UNMEASURED}


# --- what the programs would see ---


@pytest.mark.skipif(not applications.Hpcc.program, reason="no hpcc; install the Debian package")
def test_the_checks_of_hpcc_can_fail(build: Build, tmp_path: Path) -> None:
    plain = applications.Hpcc().run(build, tmp_path, None)
    assert plain.wrong == ()
    output = (tmp_path / "hpccoutf.txt").read_text()
    complaints = applications.Hpcc.complaints
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


def planted(function: str) -> list[str]:
    """Wrong variants of mutants.c, by the symbol of their function."""
    source = (HERE / "mutants.c").read_text()
    return [f"{text}_{function}" for text in re.findall(rf"MUTANT\(\s*(\w+), {function}\b", source)]


# Wrong in what no fuzzer of results sees: memory, privacy, several nodes, one value of a parameter.
UNSEEN = {
    *("takes_much_scratch_bcast", "trusts_fresh_scratch_bcast", "allocates_bcast"),
    *("leaks_once_bcast", "takes_much_scratch_alltoallv", "takes_bottom_for_nothing_scan"),
    *("sends_openly_gather", "keeps_a_communicator_scatter", "wrong_on_several_nodes_bcast"),
    *("wrong_for_a_value_bcast", "wrong_for_the_least_bcast"),
}


# Right most of the time: many calls of this one function.
SELDOM = {
    "wrong_for_many_bcast": "MPI_Bcast",
    "wrong_after_the_first_allreduce": "MPI_Allreduce",
    "wrong_once_in_100_bcast": "MPI_Bcast",
    "wrong_at_one_count_allreduce": "MPI_Allreduce",
    "wrong_at_no_power_of_two_allgather": "MPI_Allgather",
}


def found_wrong(run: Outcome) -> set[str]:
    return set(re.findall(r"^not ok (\w+) \d+$", "\n".join(run.wrong), re.MULTILINE))


def test_the_fuzzer_finds_every_mistake(build: Build, tmp_path: Path) -> None:
    """Of each function one planted variant at a time: exactly these functions are wrong."""
    symbols = MEASURED + UNMEASURED
    seen = {s: [one for one in planted(s) if one not in {*UNSEEN, *SELDOM}] for s in symbols}
    assert all(seen.values())
    fuzzer = Fuzzer(calls=1050, ranks=(5,), mutants=True)
    for turn in range(max(map(len, seen.values()))):
        chosen = {f"MPI_{s.capitalize()}": v[turn] for s, v in seen.items() if turn < len(v)}
        assert found_wrong(fuzzer.run(build, tmp_path, forced(chosen))) == chosen.keys(), chosen


@pytest.mark.parametrize("variant", SELDOM)
def test_the_fuzzer_finds_what_is_seldom_wrong(build: Build, tmp_path: Path, variant: str) -> None:
    function = SELDOM[variant]
    fuzzer = Fuzzer(calls=1500, ranks=(3,), function=function, mutants=True)
    assert found_wrong(fuzzer.run(build, tmp_path, rule(function, variant))) == {function}


def test_a_wrong_call_can_be_asked_for_alone(build: Build, tmp_path: Path) -> None:
    """By the seed and the number that the fuzzer prints."""
    chosen = {"MPI_Allgather": "swaps_blocks_allgather"}
    whole = Fuzzer(calls=300, ranks=(3,), seed=7, mutants=True).run(build, tmp_path, forced(chosen))
    line = next(one for one in whole.wrong if " call " in one)
    number = int(re.findall(r"call (\d+) of seed 7:", line)[0])
    alone = Fuzzer(number + 1, (3,), seed=7, first=number, mutants=True)
    again = alone.run(build, tmp_path, forced(chosen))
    assert line in again.wrong
    assert [one for one in again.said if not one.endswith(" 0")] == []
