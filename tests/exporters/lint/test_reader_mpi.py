"""The linter reads a rules file as the library does: where its reader finds algorithm 99, which
does not exist, the real library refuses the call, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline_exporters.family.openmpi import rules_reader as ompi_rules_reader
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES, version_reads_second
from tests.exporters.lint.conftest import OpenMpi

pytestmark = pytest.mark.mpi

NPROCS = 4
SIZES = (4, 60, 64, 68, 96, 100, 200, 4096)

# What the library passes over, octal and hexadecimal numbers, orders, sections that come twice.
CROOKED = """\
9   # a hash begins a comment; 1 2 3
7 1 4 2   0 0 0 0   0100 99 0 0      # Bcast: 0100 is 64
11 1 4 2  0 0 0 0   0x40 99 0 0      # Reduce: 0x40 is 64
2 1 4 2   0 0 0 0   64K 99 0 0       # Allreduce: K is passed over
12 1 4 3  0 0 0 0   100 0 0 0   50 99 0 0       # Reduce_scatter: 50 comes after 100
0 3   2 1 0 0 0 0   3 1 0 0 0 0   1 1 0 99 0 0  # Allgather: 1 comes after 3
3 2   8 1 0 99 0 0  2 1 0 0 0 0                 # Alltoall: 8 comes first
1 1 4 1 0 99 0 0                                # Allgatherv comes again
1 1 4 1 0 0 0 0
13 1   8 1 0 99 0 0                             # Reduce_scatter_block: for 8 ranks
7 1 4 1 0 99 0 0                                # left over
"""
DROPPED = {
    "count": "1\n7\n1\n4\n3\n0 0 0 0\n64 99 0 0\n",
    "first": "1\n7\n1\n4\n1\n64 99 0 0\n",
    "negative": "1\n7\n1\n4\n1\n0 99 -1 0\n",
    "comment before the header": "# rules\nrule-file-version-2\n1\n7\n1\n4\n1\n0 99 0 0 0\n",
}


def agree(open_mpi: OpenMpi, path: Path, text: str, functions: list[str]) -> dict[str, list[int]]:
    """Sizes that are refused, by function; the reader must know all of them, and no others."""
    path.write_text(text)
    version = tuple(int(part) for part in open_mpi.id.partition("-")[2].split("."))
    file = ompi_rules_reader.read(text, second=version_reads_second(version))
    calls = [(function, size) for function in functions for size in SIZES]
    found = open_mpi.refused(path, calls)
    for function, size in calls:
        collective = COLLECTIVES[function]
        counted = size // NPROCS if collective.size == "average" else size
        decision = file.decision(collective.rule_id, NPROCS, counted)
        assert found[function, size] == (decision[0] == 99), (function, size, decision)
    return {f: [size for size in SIZES if found[f, size]] for f in functions}


def test_crooked_files(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    functions = [
        *("MPI_Bcast", "MPI_Reduce", "MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Allgather"),
        *("MPI_Alltoall", "MPI_Allgatherv", "MPI_Reduce_scatter_block"),
    ]
    found = agree(open_mpi_of, tmp_path / "rules", CROOKED, functions)
    assert found["MPI_Bcast"] == found["MPI_Reduce"] == [64, 68, 96, 100, 200, 4096]
    assert found["MPI_Allgather"] == list(SIZES)
    assert found["MPI_Reduce_scatter"] == [100, 200, 4096]


def test_strange_words(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    """`;` is no comment: of `; 1 Bcast` the 1 is the number of collectives."""
    text = "; 1 Bcast\n7, 1, 4, 2\n0: 0 0 0\n08 99 0 0\n"
    assert ompi_rules_reader.read(text).error == ""
    agree(open_mpi_of, tmp_path / "rules", text, ["MPI_Bcast"])


@pytest.mark.parametrize("what", DROPPED)
def test_files_that_are_dropped(open_mpi_of: OpenMpi, tmp_path: Path, what: str) -> None:
    assert ompi_rules_reader.read(DROPPED[what]).error
    found = agree(open_mpi_of, tmp_path / "rules", DROPPED[what], ["MPI_Bcast"])
    assert found == {"MPI_Bcast": []}


def test_the_header(open_mpi_of: OpenMpi, tmp_path: Path) -> None:
    """With a fifth column or without, in the same file; read where the version knows it."""
    text = "rule-file-version-2\n1\n7\n1\n4\n3\n0 0 0 0\n64 99 0 0 0\n100 0 0 0\n"
    found = agree(open_mpi_of, tmp_path / "rules", text, ["MPI_Bcast"])
    assert found["MPI_Bcast"] in ([], [64, 68, 96])
