"""Neighbourhood collectives: the same results as the library's, and few messages between nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.collectives_alt.programs import ADDRESSES, ROOM, Build, make, mpirun
from tests.collectives_alt.test_variants import GARBAGE, NO_LEAKS

pytestmark = pytest.mark.mpi

MATRIX = ROOM.parent / "tests" / "collectives_alt" / "cases" / "matrix.txt"
NAMES = re.findall(
    r"^PL_UNMEASURED_VARIANT\((neighbor_\w+)\)", (ROOM / "catalogue.def").read_text(), re.MULTILINE
)
ILLEGAL = 5
"""Calls of each function in neighbors.c that the library refuses: nothing replaces them."""
FUNCTIONS = ("allgather", "allgatherv", "alltoall", "alltoallv")


@pytest.mark.parametrize(
    "shape",
    [
        "a",
        "ab",
        "aab",
        "aabb",
        "ababa",
        "aaabbc",
        *(pytest.param(shape, marks=pytest.mark.alone) for shape in ("aabbccdd", "abcabcaabbccd")),
    ],
)
def test_shapes_of_nodes(build: Build, shape: str) -> None:
    """Short blocks of a pair of nodes are one message, and nothing else leaves a node."""
    done = mpirun(len(shape), build.program("neighbors"), MATRIX, *shape, env=GARBAGE, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"ok \d{5} calls\n", done.stdout)


def test_addresses() -> None:
    build = make("neighbors", sanitizers=ADDRESSES, kind="tests-guarded")
    done = mpirun(4, build.program("neighbors"), MATRIX, *"aabb", env=NO_LEAKS, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["linear", "node_aware:combined_bytes=100"])
def test_replaced(build: Build, tmp_path: Path, kind: str) -> None:
    """A profile replaces the calls of an application, on three nodes of two ranks."""
    profile, report = tmp_path / "profile", tmp_path / "report"
    rules = (
        f"rule function=MPI_Neighbor_{name} variant=neighbor_{name}_{kind} nprocs=2-inf bytes=0-inf"
        for name in FUNCTIONS
    )
    profile.write_text("\n".join(["plumbline-profile 1", *rules, ""]))
    env = {
        "LD_PRELOAD": f"{build.preload}:{build.program('split_nodes.so')}",
        "PL_TEST_PPN": "2",
        "PLUMBLINE_PROFILE": str(profile),
        "PLUMBLINE_REPORT": str(report),
    }
    done = mpirun(6, build.program("neighbors"), MATRIX, "call", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    functions = {one["function"]: one for one in json.loads(report.read_text())["functions"]}
    assert set(functions) == {f"MPI_Neighbor_{name}" for name in FUNCTIONS}
    for one in functions.values():
        assert one["calls"] - one["replaced"] == ILLEGAL and one["replaced"] > 1000, one


def test_every_function_has_both_variants() -> None:
    assert [f"neighbor_{f}_{kind}" for f in FUNCTIONS for kind in ("linear", "node_aware")] == NAMES
    for name in NAMES:
        folder, file = re.fullmatch(r"(neighbor_[a-z]+)_(\w+)", name).groups()  # type: ignore[union-attr]
        assert (ROOM / folder / f"{file}.c").is_file()
