"""Formulas against what Open MPI counts: messages and bytes of each rank with an algorithm forced.
The critical path has at least those of the busiest rank; where ranks exchange, exactly those."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from plumbline.explain import basis
from plumbline.libraries.openmpi import OpenMpi
from plumbline.model.names import followed
from tests.tuner.simulated import SPACE

pytestmark = [pytest.mark.mpi]

ROOT = Path(__file__).resolve().parents[3]
NPROCS, BYTES, TIMES = 4, 16384, 50
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc on PATH")
    program = tmp_path_factory.mktemp("calls") / "calls"
    subprocess.run(["mpicc", str(Path(__file__).with_name("calls.c")), "-o", program], check=True)
    return program


def counted(calls: Path, function: str, knobs: dict[str, str], folder: Path) -> basis.Matrix:
    """A call: messages and bytes by sender and receiver, out of a file a rank."""
    files = folder / "rank"
    values = {"coll_tuned_use_dynamic_rules": "1", "pml_monitoring_filename": str(files)}
    values |= {"pml_monitoring_enable": "2", "pml_monitoring_enable_output": "3"} | knobs
    words = ["mpirun", "--oversubscribe", "-np", str(NPROCS)]
    words += [word for name, value in values.items() for word in ("--mca", name, value)]
    subprocess.run(
        [*words, calls, function, str(BYTES), str(TIMES)],
        check=True,
        capture_output=True,
        timeout=120,
        env=os.environ | AS_ROOT,
    )
    text = "".join((folder / f"rank.{rank}.prof").read_text() for rank in range(NPROCS))
    found = basis.parse(OpenMpi(), text)
    assert found is not None
    return {pair: (count // TIMES, size // TIMES) for pair, (count, size) in found.items()}


@pytest.mark.parametrize(
    ("function", "algorithm", "parameters", "exact"),
    [
        ("MPI_Allreduce", "recursive_doubling", {}, True),
        ("MPI_Allreduce", "rabenseifner", {}, True),
        ("MPI_Allreduce", "ring", {}, True),
        ("MPI_Allgather", "neighbor", {}, True),
        ("MPI_Bcast", "basic_linear", {}, True),
        ("MPI_Bcast", "pipeline", {"segmentsize": "4096"}, False),
        ("MPI_Bcast", "scatter_allgather_ring", {}, False),
        ("MPI_Reduce", "binomial", {"segmentsize": "0"}, True),
    ],
)
def test_as_many_messages_and_bytes_as_the_formula(
    calls: Path,
    tmp_path: Path,
    function: str,
    algorithm: str,
    parameters: dict[str, str],
    exact: bool,
) -> None:
    space = SPACE.of(function)
    assert space is not None
    knobs = {space.knob: algorithm}
    knobs |= {f"{space.knob}_{name}": value for name, value in parameters.items()}
    of = followed(SPACE, function, "default", knobs, {})
    assert of is not None
    path = of.schedule.cost(of.shape(NPROCS, BYTES))
    messages: Counter[tuple[str, int]] = Counter()
    volume: Counter[tuple[str, int]] = Counter()
    for (sender, receiver), (count, size) in counted(calls, function, knobs, tmp_path).items():
        for end in (("sends", sender), ("gets", receiver)):
            messages[end] += count
            volume[end] += size
    busiest = (max(messages.values()), max(volume.values()))
    assert busiest[0] <= path.count and busiest[1] <= path.bytes
    if exact:
        assert busiest == (path.count, path.bytes)
