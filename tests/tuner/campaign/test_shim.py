"""A preloaded tool that slows calls down is seen by what an application calls, with the exported
files in force and without."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from plumbline.libraries.openmpi import OpenMpi
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from tests import plans
from tests.tuner import shim

DELAY_NS = 20_000_000
PROFILE = """\
plumbline-profile 1
rule function=MPI_Allreduce nprocs=2-2 bytes=1024-4096 variant=allreduce_as_reduce_plus_bcast
"""
CASES = {
    0: "function=MPI_Allreduce variant=default bytes=2048",
    1: "function=MPI_Allreduce variant=library bytes=2048",
    2: "function=MPI_Allreduce variant=default bytes=64",
    3: "function=MPI_Gather variant=default bytes=2048",
    4: "function=MPI_Allgather variant=default bytes=2048",
}


@pytest.mark.mpi
@pytest.mark.parametrize("ours", [False, True])
def test_calls_in_the_range_take_longer(tmp_path: Path, ours: bool) -> None:
    """Also those of the variant `library`, which stands for a call without the exported files, and
    but for what these replace."""
    if shutil.which("mpicc") is None:
        pytest.skip("no mpicc on PATH")
    found = OpenMpi().find(None)
    if not found:
        pytest.skip("no Open MPI on PATH")
    try:
        build_id = paths.build_id(found[0].library)
        probe, library = paths.layout().probe(build_id), paths.layout().preload(build_id)
    except PlumblineError as error:
        pytest.skip(str(error))
    slow = {name: (1024, 4096, DELAY_NS) for name in ("MPI_Allreduce", "MPI_Gather")}
    tool = shim.build(tmp_path, "mpicc", slow)
    # One of so many finds the machine free.
    rest = "config=default type=MPI_BYTE op=MPI_BOR root=0 reps=10"
    lines = [f"case id={id} {case} {rest}" for id, case in CASES.items()]
    plan = tmp_path / "plan"
    head = ["plumbline-plan 1", "set run=x seed=1 blocks=1 warmup=0"]
    plan.write_text(plans.complete("\n".join([*head, *lines])))
    preloaded = f"{library}:{tool}" if ours else str(tool)
    profile = tmp_path / "profile"
    profile.write_text(PROFILE)
    done = subprocess.run(
        [
            *("mpirun", "--oversubscribe", "-np", "2", "-x", f"LD_PRELOAD={preloaded}"),
            *("-x", f"PLUMBLINE_PROFILE={profile}"),
            *(probe, "--plan", plan, "--out", tmp_path / "records"),
        ],
        env=os.environ | OpenMpi().environment(found[0]),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    times = {one["case"]: one["ns"] for one in records if one["record"] == "samples"}
    slowed = {id for id, ns in times.items() if min(ns) >= DELAY_NS}
    assert times.keys() == CASES.keys()
    assert slowed == ({1, 3} if ours else {0, 1, 3})


def test_a_function_that_it_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"shim\.c has no MPI_Alltoall"):
        shim.build(tmp_path, "mpicc", {"MPI_Alltoall": (1, 2, 3)})
