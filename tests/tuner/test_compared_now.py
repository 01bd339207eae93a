"""Two sides of the library that is there, in turn: what a preloaded tool slows down is slower."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tuner import shim
from tests.tuner.cli.command import plumbline


@pytest.mark.mpi
def test_a_preloaded_tool_is_found(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("no mpirun or mpicc on PATH")
    tool = shim.build(tmp_path, "mpicc", {"MPI_Allreduce": (4096, 4096, 300_000)})
    said = plumbline(
        *("compare", "--measure", "default", f"LD_PRELOAD={tool}", "-n", "2", "--launches", "7"),
        *("--functions", "MPI_Allreduce", "--sizes", "8,4096", "--json"),
        *("--db", tmp_path / "plumbline.db"),
    )
    by_size = {line["bytes"]: line for line in said.json["cells"]}
    if by_size[4096]["verdict"] == "undecided":
        assert said.status == 0, said.err
        pytest.skip("others have the machine, and seven pairs do not decide")
    assert said.status == 3, said.err
    assert by_size[4096]["verdict"] == "slower" and by_size[4096]["change"] > 1
    assert by_size[8]["pairs"] == 7 and by_size[8]["change"] < by_size[4096]["change"] / 2
    assert said.json["b"]["name"] == f"LD_PRELOAD={tool}"
