"""Replacements compose: the calls that a mock-up is made of go by the rules, too."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.collectives_alt.applications import ALL_TURNS, Fuzzer
from tests.collectives_alt.programs import Build
from tests.collectives_alt.started import Started, forced, rule, turns, variants
from tests.sampled import by_default

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

TURNS = 18  # of started.turns: a variant of every function at a time


@pytest.mark.parametrize(
    ("turn", "nprocs"),
    [(turn, nprocs) for turn in range(TURNS) for nprocs in (2, 3, 4)]
    if ALL_TURNS
    else by_default(
        [(turn, 2 + turn % 3) for turn in range(0, TURNS, 2)],
        [(turn, 2 + turn % 3) for turn in range(1, TURNS, 2)],
    ),
)
def test_every_mockup_with_every_winner_of_what_it_calls(
    build: Build, tmp_path: Path, turn: int, nprocs: int
) -> None:
    """A mock-up that is called by name composes as it does as a rule."""
    chosen = turns(build)[turn]
    mockups = [name for names in variants(build).values() for name in names if "_as_" in name]
    words, limit = ("--every", "3" if ALL_TURNS else "20", *mockups), 280
    run = Started(
        build, tmp_path, forced(chosen), *words, program="variants", nprocs=nprocs, timeout=limit
    )
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    # What no mock-up calls has no calls inside.
    called = {one["function"] for one in run.report["rules"] if one["inner"]}
    assert called >= {"MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Gather", "MPI_Alltoallv"}


def test_as_many_turns_as_there_are(build: Build) -> None:
    assert len(turns(build)) == TURNS


@pytest.mark.parametrize("seed", range(20) if ALL_TURNS else by_default(range(2), range(2, 4)))
def test_mockups_of_mockups_are_right(build: Build, tmp_path: Path, seed: int) -> None:
    """Random calls, where most functions are replaced by mock-ups, and these by others in turn."""
    draw = random.Random(seed)
    chosen = {}
    for function, names in variants(build).items():
        mockups = [name for name in names if "_as_" in name]
        chosen[function] = draw.choice(mockups if draw.random() < 0.7 else names)
    calls = 2000 if ALL_TURNS else 800
    outcome = Fuzzer(calls, (2, 3, 4), seed=seed).run(build, tmp_path, forced(chosen))
    assert outcome.wrong == ()


SUM = "nprocs=2-2 bytes=0-inf"
REDUCE_BCAST = rule("MPI_Allreduce", "allreduce_as_reduce_plus_bcast", SUM)


def nested(
    build: Build, folder: Path, *rules: str, sums: int = 64, threads: int = 1, wrong: int = 0
) -> dict[str, tuple[int, int]]:
    """Replaced calls of the application and inside replacements, by function, in ten Allreduces
    of so many bytes on two ranks; `wrong` of them are errors."""
    words = str(sums), "10", str(threads)
    run = Started(build, folder, "\n".join(rules), *words, program="nested", nprocs=2)
    assert run.done.stdout == f"wrong 0 handled {wrong} returned {wrong}\n", run.done.stderr
    counted: dict[str, tuple[int, int]] = {}
    for one in run.report["rules"]:
        calls, inner = counted.get(one["function"], (0, 0))
        counted[one["function"]] = calls + one["replaced"], inner + one["inner"]
    assert run.report["memory"] <= 64 << 20
    allreduce = run.function("MPI_Allreduce")
    assert (allreduce["calls"], allreduce["replaced"]) == (10 * threads, 10 * threads)
    return counted


def test_inner_calls_are_counted_apart(build: Build, tmp_path: Path) -> None:
    counted = nested(
        *(build, tmp_path, REDUCE_BCAST),
        rule("MPI_Reduce", "reduce_binomial", SUM),
        rule("MPI_Bcast", "bcast_as_scatter_plus_allgather", SUM),
        rule("MPI_Allgather", "allgather_ring", SUM),
    )
    assert counted == {
        "MPI_Allreduce": (10, 0),
        "MPI_Reduce": (0, 10),
        "MPI_Bcast": (0, 10),
        "MPI_Allgather": (0, 10),
    }


def test_no_function_is_replaced_inside_itself(build: Build, tmp_path: Path) -> None:
    counted = nested(
        *(build, tmp_path, REDUCE_BCAST),
        rule("MPI_Reduce", "reduce_as_allreduce", SUM),
        rule("MPI_Bcast", "bcast_binomial", SUM),
    )
    assert counted == {"MPI_Allreduce": (10, 0), "MPI_Reduce": (0, 10), "MPI_Bcast": (0, 10)}


def test_a_part_of_a_call_may_be_replaced(build: Build, tmp_path: Path) -> None:
    """A winner for half of the message is used where the whole is cut into halves."""
    counted = nested(
        *(build, tmp_path),
        rule("MPI_Allreduce", "allreduce_as_split:pieces=2", "nprocs=2-2 bytes=64-inf"),
        rule("MPI_Allreduce", "allreduce_recursive_doubling", "nprocs=2-2 bytes=0-63"),
    )
    assert counted == {"MPI_Allreduce": (10, 20)}


def test_calls_inside_calls_have_an_end(build: Build, tmp_path: Path) -> None:
    """64 bytes are cut into 2 times 32, 4 times 16 and 8 times 8, and no further."""
    counted = nested(*(build, tmp_path), rule("MPI_Allreduce", "allreduce_as_split:pieces=2", SUM))
    assert counted == {"MPI_Allreduce": (10, 10 * (2 + 4 + 8))}


@pytest.mark.parametrize(("memory", "inner"), [(10 << 20, 10), (200_000, 0)])
def test_calls_inside_calls_share_the_memory(
    build: Build, tmp_path: Path, memory: int, inner: int
) -> None:
    """Each bound alone is below 200 kB, their sum is above."""
    counted = nested(
        *(build, tmp_path, f"memory bytes={memory}"),
        rule("MPI_Allreduce", "allreduce_as_reduce_scatter_block_plus_allgather", SUM),
        rule("MPI_Allgather", "allgather_as_alltoall", SUM),
        sums=40_000,
    )
    assert counted == {"MPI_Allreduce": (10, 0), "MPI_Allgather": (0, inner)}


@pytest.mark.parametrize("function", ["MPI_Reduce", "MPI_Bcast"])
def test_an_error_inside_is_reported_once(build: Build, tmp_path: Path, function: str) -> None:
    refusing = rule(function, "canary", SUM)
    nested(build, tmp_path, REDUCE_BCAST, refusing, wrong=10)


def test_threads_compose_each_on_its_communicator(build: Build, tmp_path: Path) -> None:
    counted = nested(
        *(build, tmp_path),
        rule("MPI_Allreduce", "allreduce_as_reduce_scatter_block_plus_allgather", SUM),
        rule("MPI_Reduce_scatter_block", "reduce_scatter_block_as_reduce_plus_scatter", SUM),
        rule("MPI_Reduce", "reduce_rabenseifner", SUM),
        rule("MPI_Allgather", "allgather_bruck", SUM),
        sums=1000,
        threads=2,
    )
    assert counted.pop("MPI_Allreduce") == (20, 0)
    assert set(counted.values()) == {(0, 20)}
