"""The program `loops`: what its cases come to, what its loops time, what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from plumbline.results import profiling
from tests.probes.launch import ENVIRONMENT
from tests.sampled import by_default

pytestmark = pytest.mark.mpi

LOOPS = ["osu", "imb", "stream", "barrier", "synchronised"]
# With three ranks: what 1001 bytes come to, as bytes and as MPI_INT.
VOLUMES = {
    "MPI_Bcast": (1001, 1004),
    "MPI_Gather": (1002, 1008),
    "MPI_Gatherv": (1001, 1004),
    "MPI_Scatter": (1002, 1008),
    "MPI_Scatterv": (1001, 1004),
    "MPI_Allgather": (1002, 1008),
    "MPI_Allgatherv": (1001, 1004),
    "MPI_Alltoall": (1002, 1008),
    "MPI_Alltoallv": (1001, 1004),
    "MPI_Reduce": (1001, 1004),
    "MPI_Allreduce": (1001, 1004),
    "MPI_Reduce_scatter": (1001, 1004),
    "MPI_Reduce_scatter_block": (1002, 1008),
    "MPI_Scan": (1001, 1004),
    "MPI_Exscan": (1001, 1004),
}


def start(
    build: Path, *words: str, ranks: int = 2, preload: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    argv = ["mpirun", "--oversubscribe", "-np", str(ranks)]
    given = more | ({"LD_PRELOAD": str(preload)} if preload else {})
    for name, value in given.items():
        argv += ["-x", f"{name}={value}"]
    return subprocess.run(
        [*argv, str(build / "loops"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    head, *found = [json.loads(line) for line in done.stdout.splitlines()]
    assert head["program"].startswith("loops ")
    return found


def test_every_case_in_every_loop(build: Path) -> None:
    cases = ["MPI_Barrier:0", *(f"{function}:100" for function in VOLUMES)]
    found = lines(start(build, *cases, "--iterations", "5", "--warmup", "1"))
    assert sorted((one["case"], one["loop"]) for one in found) == sorted(
        (case, loop) for case in cases for loop in LOOPS
    )
    for one in found:
        # A start that a rank was late for counts as no iteration.
        least = 1 if one["loop"] == "synchronised" else 5
        assert one["why"] == "" and least <= one["iterations"] <= 5
        assert 0 <= one["min_us"] <= one["us"] <= one["max_us"]


def test_volumes_are_those_of_the_plan(build: Path, tmp_path: Path) -> None:
    """As the preload library, which chooses by them, sees them on all ranks."""
    cases = [f"{name}:1001" for name in VOLUMES] + [f"{name}:1001:MPI_INT" for name in VOLUMES]
    words = [*cases, "--loop", "stream", "--iterations", "7", "--warmup", "2"]
    done = start(
        build, *words, ranks=3, preload=build / "libplumbline.so", PLUMBLINE_CALLS=str(tmp_path)
    )
    moved = {one["case"]: one["moved"] for one in lines(done)}
    ranks = profiling.ranks(tmp_path)
    assert sorted(one.rank for one in ranks) == [0, 1, 2]
    for function, volumes in VOLUMES.items():
        assert moved[f"{function}:1001"] == volumes[0]
        assert moved[f"{function}:1001:MPI_INT"] == volumes[1]
        for rank in ranks:
            if function == "MPI_Alltoallv":  # known there is what this rank receives
                parts = (334, 334, 333)[rank.rank], 4 * (84, 84, 83)[rank.rank]
                expected = {3 * part: 9 for part in parts}
            elif function in ("MPI_Gatherv", "MPI_Scatterv") and rank.rank:
                continue  # the root alone knows it
            else:
                expected = dict.fromkeys(volumes, 9)
            assert expected == {
                key[4]: count
                for key, (count, _, _) in rank.calls.items()
                if key[0] == function and key[4] > 100  # the rest is the program's own
            }


# With three ranks: the parts of 1001 bytes.
PARTS = {
    "equal": (334, 334, 333),
    "linear": (166, 334, 501),
    "last": (0, 0, 1001),
    "half": (501, 0, 500),
}


@pytest.mark.parametrize("ranks", by_default([3], [2, 4]))
def test_all_count_shapes_of_all_functions_that_have_counts(build: Path, ranks: int) -> None:
    names = ("Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Reduce_scatter")
    cases = [f"MPI_{name}:4001:MPI_INT:{counts}" for name in names for counts in PARTS]
    words = [*cases, "MPI_Gatherv:7:last", "MPI_Reduce_scatter:80:MPI_DOUBLE:MPI_SUM:half"]
    done = start(build, *words, "--iterations", "2", "--warmup", "1", ranks=ranks)
    found = lines(done)
    assert {one["case"] for one in found if one["us"] is not None} == set(words)
    assert {one["moved"] for one in found if one["case"] in cases} == {4004}


def test_counts_are_those_of_the_plan(build: Path, tmp_path: Path) -> None:
    """The preload library sees what each rank receives of a call of MPI_Alltoallv."""
    cases = [f"MPI_Alltoallv:1001:{counts}" for counts in PARTS]
    words = [*cases, "--loop", "stream", "--iterations", "7", "--warmup", "2"]
    done = start(
        build, *words, ranks=3, preload=build / "libplumbline.so", PLUMBLINE_CALLS=str(tmp_path)
    )
    assert {one["moved"] for one in lines(done)} == {1001}
    for rank in profiling.ranks(tmp_path):
        expected: Counter[int] = Counter()
        for parts in PARTS.values():
            expected[3 * parts[rank.rank]] += 9
        found: Counter[int] = Counter()
        for key, (count, _, _) in rank.calls.items():
            if key[0] == "MPI_Alltoallv":
                found[key[4]] += count
        assert found == expected


@pytest.mark.parametrize("loop", LOOPS)
def test_a_slow_rank_is_seen(build: Path, uneven: Path, loop: str) -> None:
    """It takes two milliseconds more: so does the slowest rank, and half of it the mean."""
    words = ["MPI_Scan:8", "--loop", loop, "--iterations", "5", "--warmup", "0"]
    (found,) = lines(start(build, *words, preload=uneven))
    assert found["us"] > (990 if loop == "osu" else 1990)
    if loop in ("osu", "imb"):
        assert found["max_us"] > 1990


def test_the_order_is_the_seed_s(build: Path) -> None:
    cases = [f"MPI_Bcast:{size}" for size in range(1, 9)]
    words = [*cases, "--loop", "osu", "--iterations", "1"]
    orders = [
        [one["case"] for one in lines(start(build, *words, "--seed", seed))]
        for seed in ("1", "1", "2")
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == sorted(cases)


def test_a_file_in_place_of_standard_output(build: Path, tmp_path: Path) -> None:
    out = tmp_path / "times"
    done = start(build, "MPI_Barrier:0", "--loop", "imb", "--out", str(out))
    assert (done.returncode, done.stdout) == (0, "")
    head, line = [json.loads(line) for line in out.read_text().splitlines()]
    assert head["nprocs"] == 2
    assert (line["case"], line["loop"]) == ("MPI_Barrier:0", "imb")


REFUSED = [
    (["MPI_Foo:1"], "MPI_Foo:1: no such function"),
    (["MPI_Bcast"], "a case is FUNCTION"),
    (["MPI_Bcast:1:MPI_INT:MPI_SUM:x"], "a case is FUNCTION"),
    (["MPI_Bcast:last"], "bytes must be a whole number"),
    (["MPI_Gatherv:1:MPI_INT:MPI_SUM:x:last"], "a case is FUNCTION"),
    (["MPI_Gatherv:1:last:last"], "no such type"),
    (["MPI_Bcast:1:last"], "same count for all ranks"),
    (["MPI_Alltoallv:1500000000:last"], "more than 2 GiB"),
    (["MPI_Bcast:-1"], "bytes must be a whole number"),
    (["MPI_Bcast:1e3"], "bytes must be a whole number"),
    (["MPI_Bcast:"], "bytes must be a whole number"),
    (["MPI_Bcast:4294967296"], "more than 2 GiB"),
    (["MPI_Barrier:1"], "has the size 0"),
    (["MPI_Bcast:8:MPI_LONG"], "no such type"),
    (["MPI_Bcast:8:MPI_INT:MPI_SUM"], "has no operator"),
    (["MPI_Reduce:8:MPI_INT:MPI_MIN"], "no such operator"),
    (["MPI_Reduce:8:MPI_BYTE:MPI_SUM"], "not defined on the type"),
    (["MPI_Reduce:8:MPI_DOUBLE:MPI_BOR"], "not defined on the type"),
    (["MPI_Reduce:8:MPI_DOUBLE:" + 200 * "x"], "too long"),
    (["MPI_Bcast:8", "--loop", "none"], "value of an option"),
    (["MPI_Bcast:8", "--iterations", "0"], "value of an option"),
    (["MPI_Bcast:8", "--root", "2"], "value of an option"),
    (["MPI_Bcast:8", "--fast"], "no such option"),
    ([], "name a case"),
]
FEW_REFUSED = REFUSED[::4]


@pytest.mark.parametrize(
    ("words", "said"), by_default(FEW_REFUSED, [row for row in REFUSED if row not in FEW_REFUSED])
)
def test_what_is_wrong_is_refused(build: Path, words: list[str], said: str) -> None:
    done = start(build, *words)
    assert done.returncode == 2
    assert f"{said}" in done.stderr
    assert done.stderr.count("loops: ") == 1  # of rank 0 alone
    assert done.stdout == ""


def test_a_file_that_cannot_be_written(build: Path, tmp_path: Path) -> None:
    done = start(build, "MPI_Bcast:8", "--out", str(tmp_path / "none" / "times"))
    assert done.returncode == 1
    assert "cannot be written" in done.stderr


def test_help_names_loops_and_functions(build: Path) -> None:
    done = start(build, "--help", ranks=1)
    assert done.returncode == 0
    for name in [*LOOPS, *VOLUMES, "MPI_Barrier", "MPI_DOUBLE", "MPI_MAX"]:
        assert name in done.stdout
