"""MPICH does with its tables what the linter says; with exported ones legal programs are right."""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.system import process
from plumbline.system.process import Finished
from plumbline_db.records import UNBOUNDED_BYTES, Library
from plumbline_exporters import registry
from plumbline_exporters.families import Context
from plumbline_exporters.family.mpich import selection as mpich_selection
from plumbline_exporters.lint import formats
from tests.exporters import mpi
from tests.exporters.bundles import bundle, library
from tests.exporters.lint.test_traps import KNOWN
from tests.exporters.test_mpich_selection import winner
from tests.sampled import by_default
from tests.tuner.families.installations import prefix_of

pytestmark = pytest.mark.mpi

ALL = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "gather", "scatter")
Tree = dict[str, Any]


class Mpich(msgspec.Struct, frozen=True):
    library: Library
    hazards: Path

    def run(self, folder: Path, *hazards: str, limit: float = 60) -> Finished:
        """With the tables in `folder`; two ranks, since it spins."""
        names = {
            mpich_selection.VARIABLE: mpich_selection.FILE_NAME,
            mpich_selection.COMPOSITIONS_VARIABLE: mpich_selection.COMPOSITIONS_FILE_NAME,
        }
        tables = {name: str(folder / file) for name, file in names.items()}
        return process.run(
            [f"{self.library.prefix}/bin/mpiexec", "-n", "2", self.hazards, *hazards],
            timeout_seconds=limit,
            environment=dict(os.environ) | tables,
        )


@pytest.fixture(scope="module")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> Mpich:
    prefix = prefix_of("mpich-5.0")
    program = tmp_path_factory.mktemp("hazards") / "hazards"
    source = Path(__file__).with_name("hazards.c")
    found = library("5.0.2", "mpich", prefix=str(prefix))
    return Mpich(found, mpi.build(source, program, mpicc=f"{prefix}/bin/mpicc"))


def no_bound(table: Tree) -> None:
    leaf = {"algorithm=MPIR_Alltoall_intra_pairwise": {}}
    table["collective=alltoall"] = {"comm_type=intra": {"avg_msg_size<=8": leaf}}


def any_first(table: Tree) -> None:
    leaf = {"algorithm=MPIR_Alltoall_intra_pairwise": {}}
    tests = {"avg_msg_size=any": leaf, "avg_msg_size<=8": leaf}
    table["collective=alltoall"] = {"comm_type=intra": tests}


def unknown(table: Tree) -> None:
    leaf = {"algorithm=MPIR_Alltoall_intra_pairwise": {}}
    table["collective=alltoall"] = {"comm_type=intra": {"msg_size<=8": leaf, "any": leaf}}


def other(table: Tree) -> None:
    table["collective=reduce"] = {"algorithm=MPIR_Bcast_intra_binomial": {}}


def short(table: Tree) -> None:
    for key in list(table):
        if key != "collective=allreduce":
            del table[key]


def unguarded(table: Tree) -> None:
    table["collective=allreduce"] = {"algorithm=MPIR_Allreduce_intra_ring": {}}


SPOILT: dict[str, Callable[[Tree], None]] = {
    "nothing-for-the-rest": no_bound,
    "any-not-last": any_first,
    "unknown-test": unknown,
    "of-another-function": other,
    "missing-collectives": short,
    "unguarded": unguarded,
}


@pytest.mark.parametrize("trap", SPOILT)
def test_a_corrupted_table(mpich: Mpich, tmp_path: Path, trap: str) -> None:
    """Allreduce's ring, by an operation that does not commute, gives wrong data; the rest ends."""
    algorithms, compositions = copy.deepcopy(mpich_selection.tables(mpich.library))
    SPOILT[trap](algorithms)
    if trap in ("unguarded", "of-another-function"):  # leave the calls to the table
        for name, letter in (("allreduce", "beta"), ("reduce", "gamma")):
            leaf = {f"composition=MPIDI_{name.capitalize()}_intra_composition_{letter}": {}}
            compositions[f"collective={name}"] = {"comm_type=intra": leaf}
    text = json.dumps(algorithms, indent=1)
    (tmp_path / mpich_selection.FILE_NAME).write_text(text)
    (tmp_path / mpich_selection.COMPOSITIONS_FILE_NAME).write_text(json.dumps(compositions))
    done = mpich.run(tmp_path, "allreduce", "reduce")
    if trap == "unguarded":
        assert done.status == 0 and "wrong allreduce" in done.stdout
    else:
        assert done.status != 0
    found = formats.check(text, formats.choose("table", text), Context())
    assert trap in {one.trap for one in found}


def test_exported_tables_are_right(mpich: Mpich, tmp_path: Path) -> None:
    winners = [
        winner("MPI_Allreduce", "ring", 0, UNBOUNDED_BYTES, 2),
        winner("MPI_Reduce_scatter_block", "pairwise", 0, UNBOUNDED_BYTES, 2),
        winner("MPI_Reduce_scatter", "recursive_halving", 0, UNBOUNDED_BYTES, 2),
        winner("MPI_Allgather", "ring", 1024, 1 << 20, 2),
        winner("MPI_Alltoall", "pairwise", 1024, 1 << 20, 2),
        winner("MPI_Gather", "binomial", 0, UNBOUNDED_BYTES, 2),
        winner("MPI_Scatter", "binomial", 0, UNBOUNDED_BYTES, 2),
    ]
    registry.write(bundle(*winners, directory=tmp_path, library=mpich.library), ["mpich-json"])
    done = mpich.run(tmp_path, *ALL, "allgather", "alltoall", "gather_unequal")
    assert (done.status, done.stdout) == (0, "over\n"), done.stderr


LEAVES = [
    # a leaf of Allreduce, whether the program ends in MPI_Init or hangs, what the linter says
    ({"algorithm=MPIR_Allreduce_intra_recexch": {"k=4": {}}}, False, ""),
    ({"algorithm=MPIR_allreduce_intra_recursive_doubling": {}}, True, "no-such-algorithm"),
    ({"algorithm=MPIR_Allreduce_intra_no_such_thing": {}}, True, "no-such-algorithm"),
    ({"algorithm=MPIR_Allreduce_intra_recexch": {"k=1": {}}}, True, "parameter-too-small"),
]


@pytest.mark.parametrize(
    ("leaf", "ends", "trap"), by_default(LEAVES[:3], LEAVES[3:]), ids=lambda one: str(one)[:60]
)
def test_a_leaf(mpich: Mpich, tmp_path: Path, leaf: Tree, ends: bool, trap: str) -> None:
    """A comma before a brace, comments and single quotes are json-c's to read."""
    table, compositions = mpich_selection.tables(mpich.library)
    table["collective=allreduce"] = {
        "comm_type=intra": {
            "is_commutative=yes": leaf,
            "is_commutative=no": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
        },
        "comm_type=inter": table["collective=allreduce"]["comm_type=inter"],
    }
    compositions["collective=allreduce"] = {
        "composition=MPIDI_Allreduce_intra_composition_beta": {}
    }
    text = "/* ours */ " + json.dumps(table)[:-1] + ",}"
    (tmp_path / mpich_selection.FILE_NAME).write_text(text)
    (tmp_path / mpich_selection.COMPOSITIONS_FILE_NAME).write_text(json.dumps(compositions))
    found = formats.check(text, formats.choose("table", text), Context(mpich.library.id))
    assert [one.trap for one in found] == ([trap] if trap else [])
    hangs = trap == "parameter-too-small"
    done = mpich.run(tmp_path, "allreduce", limit=10 if hangs else 60)
    assert (done.status != 0) is ends and done.timed_out is hangs, done.stderr


def test_every_variable_of_the_library_is_in_the_table(mpich: Mpich) -> None:
    done = process.run([f"{mpich.library.prefix}/bin/mpivars"], timeout_seconds=60)
    names = set(re.findall(r"^\tMPIR_CVAR_\w+", done.stdout, re.MULTILINE))
    (known,) = Context(mpich.library.id, KNOWN).target("mpich").known
    assert len(names) > 300
    assert {name.strip() for name in names} - known.parameters.keys() == set()
