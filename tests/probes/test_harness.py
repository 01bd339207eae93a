"""The harness calls no collective of the library where calls are timed, but for the MPI_Barrier of
the scheme and the loops that are made of it: candidates of other functions are in force there."""

from __future__ import annotations

import re
from pathlib import Path

PROBES = Path(__file__).parents[2] / "probes"
_COLLECTIVE = re.compile(
    r"\bP?(MPI_(?:Barrier|I?Bcast|I?(?:All)?(?:[Gg]atherv?|[Rr]educe)|I?Scatterv?|I?Alltoall[vw]?"
    r"|I?Reduce_scatter(?:_block)?|I?(?:Ex)?[Ss]can|Ibarrier))\("
)
# MPI_Allreduce: before anything is timed, on some simulated machines (docs/design/simulated.md).
ALLOWED = {
    "sync/barrier.c": {"MPI_Barrier"},
    "measure/plain.c": {"MPI_Barrier"},
    "measure/run.c": {"MPI_Allreduce"},
}


def test_no_collective_is_called_but_these() -> None:
    found: dict[str, set[str]] = {}
    for file in sorted(PROBES.rglob("*.c")):
        name = file.relative_to(PROBES).as_posix()
        # A program of its own, of plain loops; a library that stands before applications.
        if not name.startswith(("loops/", "recorder/")):
            called = set(_COLLECTIVE.findall(file.read_text()))
            found |= {name: called} if called else {}
    assert found == ALLOWED
