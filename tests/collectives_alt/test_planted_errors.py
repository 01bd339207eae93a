"""Errors planted in bodies that variants share: the suite must find each of them, and the fuzzer
those of functions that the suite leaves out. Errors of whole variants are in mutants.c."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.collectives_alt.applications import Fuzzer, Outcome
from tests.collectives_alt.programs import HERE, ROOM, UNDEFINED, Build, mpirun
from tests.collectives_alt.started import forced
from tests.collectives_alt.test_variants import GARBAGE

pytestmark = [pytest.mark.mpi, pytest.mark.alone]

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", *UNDEFINED.split()]
FOLDERS = [f"-I{ROOM}", f"-I{ROOM / 'common'}", f"-I{HERE}"]


@dataclass(frozen=True)
class Planted:
    """An error: the right text of a file, and the wrong one. A header is compiled through a file
    that includes it."""

    what: str
    where: str
    right: str
    wrong: str
    names: list[str]  # variants that are wrong with it
    through: str = ""


PLANTED = [
    Planted(
        "the flag of another slot is read",
        "common/shared_blocks.c",
        "at, pl_step_of(shared, &step, other)",
        "at, pl_step_of(shared, &step, shared->rank)",
        ["allgather_shared_memory"],
    ),
    Planted(
        "nobody waits for the writer",
        "common/shared.h",
        "(counter, memory_order_acquire) < number)",
        "(counter, memory_order_acquire) > number)",
        ["barrier_shared_memory", "bcast_shared_memory"],
        through="common/shared_blocks.c",
    ),
    Planted(
        "parts of a piece come to one place",
        "common/shared_operands.c",
        "(char *)to + (size_t)part.first * size",
        "(char *)to + (size_t)mine.first * size",
        ["allreduce_shared_memory"],
    ),
    Planted(
        "a halving ends at rank 0 in place of the root",
        "common/by_halving.c",
        "place(halving->fold, root)",
        "place(halving->fold, 0)",
        ["reduce_bine_halving"],
    ),
    Planted(
        "parallel trees add to the block of the sender",
        "common/parallel_trees.c",
        "pl_range block = block_of(trees, (int)offset - distance)",
        "pl_range block = block_of(trees, (int)offset)",
        ["reduce_scatter_pat", "reduce_scatter_block_pat"],
    ),
    Planted(
        "a schedule names another first block",
        "common/circulant.c",
        "blocks[k] == q ? first : blocks[k] - q",
        "blocks[k] == q ? 0 : blocks[k] - q",
        ["bcast_circulant"],
    ),
    Planted(
        "both trees carry the same segments",
        "bcast/double_tree.c",
        "(stream->first + 2 * i) * size",
        "(stream->first + i) * size",
        ["bcast_double_tree"],
    ),
    Planted(
        "a group leaves out its first member",
        "allreduce/recursive_multiplying.c",
        "i = group->size - 2; i >= 0",
        "i = group->size - 2; i > 0",
        ["allreduce_recursive_multiplying"],
    ),
    Planted(
        "two blocks on their way lie in one place",
        "alltoallv/tuna.c",
        "store + (size_t)i * travel->most",
        "store + (size_t)(i / 2) * travel->most",
        ["alltoallv_tuna"],
    ),
    Planted(
        "a child gets bytes of another one",
        "common/bundled_tree.c",
        "        *end -= bytes;\n        message = *end;",
        "        message = *end -= bytes / 2;",
        ["scatterv_bundled_tree"],
    ),
    Planted(
        "a bundle that comes in lies over the own block",
        "common/weighted_tree.c",
        "call, bytes + at, place->child",
        "call, bytes, place->child",
        ["gatherv_weighted_tree"],
    ),
    Planted(
        "every segment adds the first operands",
        "common/two_trees.c",
        "*sum = pl_at(pl_operand(call), range.first,",
        "*sum = pl_at(pl_operand(call), 0,",
        ["reduce_two_trees", "allreduce_two_trees"],
    ),
    Planted(
        "a chain is without its first ranks",
        "common/chains.c",
        "last == down && up->place > 0",
        "last == down && up->place > 2",
        ["reduce_scatter_chains", "reduce_scatter_block_chains"],
    ),
    Planted(
        "gathered operands are in another order",
        "common/gather_reduce.c",
        "(i + p - 1 - gather->rank) % p",
        "(i + p - gather->rank) % p",
        ["allreduce_allgather_reduce"],
    ),
]


@pytest.fixture(scope="module")
def suite(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite as one object, with the calls left open that it takes over of the variants."""
    folder = tmp_path_factory.mktemp("suite")
    rules = (HERE / "Makefile").read_text().replace("\\\n", " ")
    made = re.search(r"^SUITE := (.*)$", rules, re.MULTILINE)
    assert made is not None
    sources = [str(HERE / name) for name in ("variants.c", *made[1].split())]
    words = ["mpicc", *FLAGS, *FOLDERS, "-c", *sources]
    subprocess.run(words, check=True, timeout=300, cwd=folder)
    return folder


@pytest.mark.parametrize("error", PLANTED, ids=[one.what for one in PLANTED])
def test_the_suite_finds_it(build: Build, suite: Path, tmp_path: Path, error: Planted) -> None:
    compiled = error.through or error.where
    shutil.copy(ROOM / compiled, tmp_path)
    text = (ROOM / error.where).read_text()
    assert text.count(error.right) == 1
    (tmp_path / Path(error.where).name).write_text(text.replace(error.right, error.wrong))
    program = linked(build, suite, tmp_path / Path(compiled).name)
    done = mpirun(5, program, *error.names, env=GARBAGE, timeout=200)
    found = re.findall(r"^not ok (\w+)", done.stdout + done.stderr, re.MULTILINE)
    assert done.returncode != 0, done.stdout + done.stderr
    assert set(found) == set(error.names), done.stdout + done.stderr


def linked(build: Build, suite: Path, source: Path) -> Path:
    """The suite with this file in place of the one in the archive of the variants."""
    program = source.with_name("planted")
    taken_over = ("malloc", "calloc", "realloc", "aligned_alloc", "free", "PMPI_Comm_split_type")
    wrapped = [f"-Wl,--wrap={name}" for name in taken_over]
    objects = [*map(str, sorted(suite.glob("*.o"))), str(source)]
    words = [
        "mpicc",
        *FLAGS,
        *FOLDERS,
        *wrapped,
        *objects,
        str(build.archive),
        "-lm",
        "-o",
        str(program),
    ]
    subprocess.run(words, check=True, timeout=120)
    return program


def test_nothing_is_found_where_nothing_is_planted(
    build: Build, suite: Path, tmp_path: Path
) -> None:
    shutil.copy(ROOM / "common" / "two_trees.c", tmp_path)
    program = linked(build, suite, tmp_path / "two_trees.c")
    done = mpirun(5, program, "reduce_two_trees", env=GARBAGE, timeout=200)
    assert done.returncode == 0 and "\nok reduce_two_trees " in done.stdout, done.stdout


# --- MPI_Alltoallw and neighbours ---

FOR_THE_FUZZER = [
    Planted(
        "every typed block is sent from one place",
        "common/everyone.c",
        "call->sdispls[other],\n",
        "call->sdispls[0],\n",
        ["alltoallw_pairwise", "alltoallw_windowed"],
    ),
    Planted(
        "neighbours are received in another order",
        "common/neighbors.c",
        "pl_from(call, i)",
        "pl_from(call, neighbors->in - 1 - i)",
        ["neighbor_allgather_linear", "neighbor_alltoall_linear"],
    ),
    Planted(
        "the first block that comes from another node is left out",
        "common/node_aware.c",
        "t->routes->unit_of[i] < 0",
        "t->routes->unit_of[i] <= 0",
        ["neighbor_allgather_node_aware", "neighbor_alltoallv_node_aware:combined_bytes=100"],
    ),
]
UNMEASURED = [
    *("alltoallw_pairwise", "neighbor_allgather_node_aware"),
    *("neighbor_allgatherv_node_aware:combined_bytes=100", "neighbor_alltoall_node_aware"),
    "neighbor_alltoallv_node_aware",
]


def fuzzed(build: Build, source: Path, variant: str) -> Outcome:
    """Return what the fuzzer sees of a variant, on nodes of two ranks, where this file takes the
    place of the one of common/ in libplumbline.so."""
    library = source.with_name("libplanted.so")
    objects = build.preload.parent / "obj" / "preload"
    own = objects / "common" / f"{source.stem}.o"
    others = [
        str(path)
        for path in objects.rglob("*.o")
        if path != own and (ROOM / path.relative_to(objects)).with_suffix(".c").exists()
    ]
    made = ["-shared", "-fPIC", "-DPL_PRELOAD", str(source), str(HERE / "split_nodes.c"), *others]
    words = ["mpicc", *FLAGS, *FOLDERS, *made, "-pthread", "-ldl", "-o", str(library)]
    subprocess.run(words, check=True, timeout=120)
    function = function_of(variant)
    fuzzer = Fuzzer(calls=600, ranks=(5,), function=function)
    planted = replace(build, preload=library)
    return fuzzer.run(planted, source.parent, forced({function: variant}))


def function_of(variant: str) -> str:
    found = re.match("alltoallw|neighbor_[a-z]+", variant)
    assert found is not None
    return f"MPI_{found[0].capitalize()}"


@pytest.mark.parametrize("error", FOR_THE_FUZZER, ids=[one.what for one in FOR_THE_FUZZER])
def test_the_fuzzer_finds_it(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Planted
) -> None:
    monkeypatch.setenv("PL_TEST_PPN", "2")
    text = (ROOM / error.where).read_text()
    assert text.count(error.right) == 1
    source = tmp_path / Path(error.where).name
    source.write_text(text.replace(error.right, error.wrong))
    for variant in error.names:
        outcome = fuzzed(build, source, variant)
        assert re.search(rf"^not ok {function_of(variant)}\b", "\n".join(outcome.wrong), re.M)
        assert outcome.replaced == {variant.split(":")[0]}


def test_the_fuzzer_finds_nothing_where_nothing_is_planted(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PL_TEST_PPN", "2")
    shutil.copy(ROOM / "common" / "node_aware.c", tmp_path)
    for variant in UNMEASURED:
        outcome = fuzzed(build, tmp_path / "node_aware.c", variant)
        assert outcome.wrong == ()
        assert outcome.replaced == {variant.split(":")[0]}
