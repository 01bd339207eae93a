"""Sides of the library that is there, in turn: what a preloaded tool slows down is slower, and is
faster again without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tuner import shim
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.pages import site


@pytest.mark.mpi
def test_a_build_of_three_that_is_slower(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("no mpirun or mpicc on PATH")
    tool = shim.build(tmp_path, "mpicc", {"MPI_Allreduce": (4096, 4096, 300_000)})
    slow = f"LD_PRELOAD={tool}"
    database = tmp_path / "plumbline.db"

    def compared(a: str, b: str) -> Result:
        return plumbline(
            *("compare", "--measure", a, b, "-n", "2", "--launches", "7", "--db", database),
            *("--functions", "MPI_Allreduce", "--sizes", "8,4096", "--json"),
        )

    found = [compared("default", slow), compared(slow, "default")]
    tried = [{line["bytes"]: line for line in said.json["cells"]} for said in found]
    if "not shown" in (cells[4096]["verdict"] for cells in tried):
        pytest.skip("others have the machine, and seven pairs do not decide")
    assert [said.status for said in found] == [3, 0], found[0].err + found[1].err
    slower, faster = tried
    assert slower[4096]["verdict"] == "slower" and slower[4096]["change"] > 1
    assert slower[8]["pairs"] == 7 and slower[8]["change"] < slower[4096]["change"] / 2
    assert faster[4096]["verdict"] == "faster"
    history = plumbline("compare", "--history", "--json", "--db", database)
    assert history.status == 0
    told = [(each["b"]["name"], each["summary"]["slower"]) for each in history.json]
    # What stands before each call may be seen at 8 B too.
    count = sum(line["verdict"] == "slower" for line in slower.values())
    assert told == [(slow, count), ("default", 0)]
    with site.client(database) as client:
        page = client.get("/history").text
    assert "MPI_Allreduce 4096 B: slower by" in page
