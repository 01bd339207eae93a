"""Slow-downs that a preloaded tool plants into the real library are found in all cells, and
replaced.

Minutes, so it is not among the tests that pytest finds: `make test-campaigns`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.settings.campaign_file import load
from plumbline_db import findings
from plumbline_db.connection import Database
from tests.tuner import shim, whole

pytestmark = [pytest.mark.mpi, pytest.mark.slow, pytest.mark.timeout(3600)]

SIZES = [512, 1024, 4096, 16384, 32768]
DELAY_NS = 40_000
# Function: the guideline that sees it, from so many to so many bytes. What its mock-up is made of
# is not slowed down at these sizes: Allreduce's is made of Reduce and Bcast.
PLANTED = {
    "MPI_Allreduce": ("GL12", 512, 1024),
    "MPI_Bcast": ("GL10", 4096, 32768),
    "MPI_Scan": ("GL16", 1024, 4096),
    "MPI_Gather": ("GL3", 1024, 16384),
}


@pytest.mark.parametrize("nprocs", [2, 4])
def test_planted_slow_downs_are_found_and_replaced(tmp_path: Path, nprocs: int) -> None:
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("no mpirun or mpicc on PATH")
    slow = {name: (low, high, DELAY_NS) for name, (_, low, high) in PLANTED.items()}
    tool = shim.build(tmp_path, "mpicc", slow)
    settings = load(
        None,
        {
            "nprocs": nprocs,
            "sizes": SIZES,
            "guidelines": [name for name, _, _ in PLANTED.values()],
            "preload": [str(tool)],
        },
    )
    toolchain, settings, ranks = whole.here(settings)
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        started = whole.campaign(db, ranks, settings, tmp_path / "out", toolchain)
        before, after = (
            {
                (one.guideline, one.function, one.bytes): one.verdict
                for one in findings.get_verdicts(db, started.id, stage)
            }
            for stage in ("before", "after")
        )
        kept = findings.get_winners(db, started.id)
    cells = [
        (guideline, function, size)
        for function, (guideline, low, high) in PLANTED.items()
        for size in SIZES
        if low <= size <= high
    ]
    assert {cell: before[cell] for cell in cells} == dict.fromkeys(cells, "violated")
    assert not [cell for cell in cells if after[cell] == "violated"]
    assert all(deciding(kept, Target(function, size)) for _, function, size in cells)
