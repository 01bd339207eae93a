"""Remembered decisions: calls whose arguments are almost those of a call before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build
from tests.collectives_alt.started import Started, rule

pytestmark = pytest.mark.mpi

CANARIES = [
    rule("MPI_Bcast", "canary", "nprocs=2-2 bytes=8-8"),
    rule("MPI_Allgatherv", "canary", "nprocs=2-2 bytes=16-16"),
    rule("MPI_Allreduce", "canary", "nprocs=2-2 bytes=0-inf op=commutative"),
]


def test_a_decision_is_for_its_arguments_alone(build: Build, tmp_path: Path) -> None:
    """Exactly the calls that a rule is for are replaced, whatever the calls before were."""
    run = Started(build, tmp_path, "\n".join(CANARIES), program="again", nprocs=2)
    assert run.done.returncode == 0, run.done.stdout + run.done.stderr
    counts = re.fullmatch(r"ok bad=0 types=(\d+) operations=(\d+)\n", run.done.stdout)
    assert counts
    assert min(int(count) for count in counts.groups()) > 20, "no handle came back"
