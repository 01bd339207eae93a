"""OSU Micro-Benchmarks: what is asked of them, what their tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.check.installed import OSU_COLUMN, Osu, find_osu, program_of
from plumbline.check.programs import ProgramCell, Reading, Unreadable, Wanted
from plumbline.foreign.osu import FUNCTIONS
from plumbline_db.errors import UsageError
from plumbline_db.records import UNBOUNDED_BYTES
from tests.db import build

HERE = Path("/unused")
PROGRAMS = {function: Path("/opt/osu") / program_of(function) for function in FUNCTIONS}
OSU = Osu(PROGRAMS, nprocs=4, iterations=50)

# As version 7 prints it, with -f and without; as version 5 does.
NEW = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
4                       6.51
8                       7.25
16384                 101.00
"""
FULL = """
# OSU MPI Gather Latency Test v7.4
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
4                       2.51              1.27              4.57          50
"""
OLD = """# OSU MPI Reduce_scatter Latency Test v5.3
# Size       Avg Latency(us)
4                       1.20
1024                    8.40
"""
BARRIER = """
# OSU MPI Barrier Latency Test v7.4
# Avg Latency(us)
             1.87
"""


def read(function: str, text: str) -> dict[Reading, float]:
    return dict(OSU.read([str(PROGRAMS[function]), "-i", "50"], HERE, text))


def test_tables() -> None:
    assert read("MPI_Allreduce", NEW) == {
        Reading(
            OSU_COLUMN, ProgramCell("MPI_Allreduce", size, "MPI_CHAR", "MPI_SUM")
        ): pytest.approx(us / 1e6)
        for size, us in ((4, 6.51), (8, 7.25), (16384, 101.0))
    }
    assert read("MPI_Gather", FULL) == {
        Reading(OSU_COLUMN, ProgramCell("MPI_Gather", 16, "MPI_INT")): pytest.approx(2.51e-6)
    }
    assert read("MPI_Reduce_scatter", OLD) == {
        Reading(OSU_COLUMN, ProgramCell("MPI_Reduce_scatter", 4, "", "MPI_SUM")): pytest.approx(
            1.2e-6
        ),
        Reading(OSU_COLUMN, ProgramCell("MPI_Reduce_scatter", 1024, "", "MPI_SUM")): pytest.approx(
            8.4e-6
        ),
    }
    assert read("MPI_Barrier", BARRIER) == {
        Reading(OSU_COLUMN, ProgramCell("MPI_Barrier", 0)): pytest.approx(1.87e-6)
    }


@pytest.mark.parametrize("text", ["", "This test requires at least two processes\n", "# Size\n"])
def test_no_table(text: str) -> None:
    with pytest.raises(Unreadable, match="no times"):
        read("MPI_Allreduce", text)


def test_one_launch_a_function_and_run_of_sizes() -> None:
    winners = [
        build.winner(bytes_from=0, bytes_to=40),
        build.winner(bytes_from=1000, bytes_to=5000),
        build.winner(function="MPI_Gather", bytes_from=0, bytes_to=UNBOUNDED_BYTES),
        build.winner(function="MPI_Scan", bytes_from=0, bytes_to=UNBOUNDED_BYTES),
        build.winner(function="MPI_Barrier", bytes_from=0, bytes_to=UNBOUNDED_BYTES),
    ]
    most = {"MPI_Allreduce": 102400, "MPI_Gather": 4096, "MPI_Scan": 4096, "MPI_Barrier": 0}
    wanted = Wanted(winners=winners, cells=[], nprocs=4, root=0, most=most)
    offered = OSU.offers(wanted)
    assert {cell.function for cell in offered} == {"MPI_Allreduce", "MPI_Gather", "MPI_Barrier"}
    options = ["-x", "10", "-i", "50"]
    assert OSU.launches(offered, [OSU_COLUMN], 1) == [
        ["/opt/osu/osu_barrier", *options],
        ["/opt/osu/osu_gather", *options, "-m", "1:1024"],
        ["/opt/osu/osu_allreduce", *options, "-m", "4:32"],
        ["/opt/osu/osu_allreduce", *options, "-m", "1024:4096"],
    ]
    one = [ProgramCell("MPI_Gather", 64)]
    assert OSU.launches(one, [OSU_COLUMN], 1) == [["/opt/osu/osu_gather", *options, "-m", "16:16"]]


def test_programs_below_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mpi" / "collective"
    folder.mkdir(parents=True)
    for name, mode in (("osu_bcast", 0o755), ("osu_gather", 0o644), ("osu_latency", 0o755)):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(mode)
    assert find_osu(tmp_path) == {"MPI_Bcast": folder / "osu_bcast"}
    with pytest.raises(UsageError, match="name the folder that OSU"):
        find_osu(tmp_path / "mpi" / "none")


def test_programs_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_osu(None) == {}
    (tmp_path / "osu_scatter").write_text("#!/bin/sh\n")
    (tmp_path / "osu_scatter").chmod(0o755)
    assert find_osu(None) == {"MPI_Scatter": tmp_path / "osu_scatter"}
