"""Presets of Intel MPI that give wrong results, and ranges that do not, on the real library."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from plumbline.libraries import Installation
from plumbline.system import process
from plumbline_exporters.family.intelmpi import knob, not_commutative
from tests.exporters import mpi
from tests.impi import FAMILY, WHEEL
from tests.tuner.families import installations

pytestmark = pytest.mark.mpi


class IntelMpi(msgspec.Struct, frozen=True):
    installation: Installation
    hazards: Path

    def outcome(self, *hazards: str, **values: str) -> str:
        """`right` or `wrong` (data); two ranks, since it spins."""
        one = self.installation
        done = process.run(
            [one.mpirun, "-n", "2", self.hazards, *hazards],
            timeout_seconds=60,
            environment=dict(os.environ) | one.environment | FAMILY.environment(one) | values,
        )
        assert done.status == 0, done.stderr
        return "wrong" if "wrong" in done.stdout else "right"


@pytest.fixture(scope="module")
def intel(tmp_path_factory: pytest.TempPathFactory) -> IntelMpi:
    found = installations.real(FAMILY, WHEEL)
    program = tmp_path_factory.mktemp("hazards") / "hazards"
    source = Path(__file__).with_name("hazards.c")
    values = dict(os.environ) | found.environment | FAMILY.environment(found)
    return IntelMpi(found, mpi.build(source, program, mpicc=str(found.mpicc), env=values))


@pytest.mark.parametrize("preset", ["1", "2", "3", "4"])
def test_operations_that_do_not_commute(intel: IntelMpi, preset: str) -> None:
    function = "MPI_Reduce_scatter_block"
    unsafe = preset in not_commutative(function)
    found = intel.outcome("reduce_scatter_block", **{knob(function): preset})
    assert found == ("wrong" if unsafe else "right")


def test_ranges_do_not_depend_on_arguments_that_do_not_count(intel: IntelMpi) -> None:
    """Of Allgather and Alltoall in place, and Gather and Scatter beside the root."""
    functions = ("MPI_Allgather", "MPI_Alltoall", "MPI_Gather", "MPI_Scatter")
    values = {knob(function): "1:0-512;3:513-2147483647" for function in functions}
    hazards = [function.removeprefix("MPI_").lower() for function in functions]
    assert intel.outcome(*hazards, **values) == "right"
