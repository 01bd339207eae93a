"""The application profile that a recording holds is the one that the preload library counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from plumbline.core.profile_file import read as read_application
from plumbline.detect.calls import ranks
from plumbline.detect.read import read
from plumbline.results import profiling
from tests.collectives_alt.programs import mpirun
from tests.probes.launch import build_folder
from tests.probes.recorder.programs import recorder
from tests.tuner.detect.program import RankProgram


def everywhere(nprocs: int, count: int) -> dict[int, np.ndarray]:
    return dict.fromkeys(range(nprocs), np.zeros(count))


def test_volumes_are_what_a_rank_knows() -> None:
    program = RankProgram(4)
    for _ in range(3):
        program.collective("MPI_Allreduce", everywhere(4, 2), everywhere(4, 2))
    program.collective("MPI_Bcast", {1: np.zeros(5)}, everywhere(4, 5), root=1)
    program.collective("MPI_Gather", everywhere(4, 1), {0: np.zeros(4)}, root=0)
    program.collective("MPI_Scatter", {2: np.zeros(8)}, everywhere(4, 2), root=2)
    program.collective("MPI_Alltoall", everywhere(4, 4), everywhere(4, 4))
    program.collective("MPI_Ibarrier", {}, {})
    row = program.communicator([0, 2])
    program.collective("MPI_Barrier", {}, {}, comm=row)
    for rank in ranks(program.recording()):
        counted = {key: calls for key, (calls, _, _) in rank.calls.items()}
        assert counted == {
            ("MPI_Allreduce", 4, 1, 4, 16): 3,
            ("MPI_Bcast", 4, 1, 4, 40): 1,
            ("MPI_Gather", 4, 1, 4, 32): 1,
            ("MPI_Scatter", 4, 1, 4, 64): 1,
            ("MPI_Alltoall", 4, 1, 4, 32): 1,
            **({("MPI_Barrier", 2, 1, 2, 0): 1} if rank.rank in (0, 2) else {}),
        }
        assert all(0 < least <= ns for _, ns, least in rank.calls.values())


@pytest.mark.mpi
def test_both_recorders_count_the_same(tmp_path: Path) -> None:
    library = recorder()
    program = library.compiled("collectives", tmp_path)
    done, record = library.recorded(tmp_path, program, 4)
    assert done.returncode == 0
    (tmp_path / "calls").mkdir()
    preload = str(build_folder("mpicc") / "libplumbline.so")
    env = {"LD_PRELOAD": preload, "PLUMBLINE_CALLS": str(tmp_path / "calls")}
    assert mpirun(4, program, env=env, cwd=tmp_path).returncode == 0

    def counted(
        found: list[profiling.ProfiledRank],
    ) -> list[dict[tuple[str, int, int, int, int], int]]:
        ordered = sorted(found, key=lambda each: each.rank)
        return [{key: calls for key, (calls, _, _) in each.calls.items()} for each in ordered]

    assert counted(ranks(read(record))) == counted(profiling.ranks(tmp_path / "calls"))

    profile = tmp_path / "my.json"
    command = [sys.executable, "-m", "plumbline", "profile", "--output", str(profile), str(record)]
    subprocess.run(command, check=True, capture_output=True)
    found = read_application(profile)
    assert (found.nprocs, found.finished) == (4, 4)
    assert {calls.function for calls in found.calls} == {
        key[0] for each in counted(ranks(read(record))) for key in each
    }
