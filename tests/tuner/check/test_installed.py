"""OSU Micro-Benchmarks and Intel MPI Benchmarks as programs that check winners."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.check.installed import (
    IMB_COLUMN,
    OSU_COLUMN,
    Imb,
    Osu,
    find_imb,
    find_osu,
    program_of,
)
from plumbline.check.programs import FOLDER, ProgramCell, Reading, Unreadable, Wanted
from plumbline.foreign.osu import FUNCTIONS
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.system.placement import Placement
from plumbline_db.errors import UsageError
from plumbline_db.records import UNBOUNDED_BYTES
from tests.db import build
from tests.tuner.families import installations
from tests.tuner.families.started import started

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


def read_osu(function: str, text: str) -> dict[Reading, float]:
    return dict(OSU.read([str(PROGRAMS[function]), "-i", "50"], HERE, text))


def test_tables_of_osu() -> None:
    assert read_osu("MPI_Allreduce", NEW) == {
        Reading(
            OSU_COLUMN, ProgramCell("MPI_Allreduce", size, "MPI_CHAR", "MPI_SUM")
        ): pytest.approx(us / 1e6)
        for size, us in ((4, 6.51), (8, 7.25), (16384, 101.0))
    }
    assert read_osu("MPI_Gather", FULL) == {
        Reading(OSU_COLUMN, ProgramCell("MPI_Gather", 16, "MPI_INT")): pytest.approx(2.51e-6)
    }
    assert read_osu("MPI_Reduce_scatter", OLD) == {
        Reading(OSU_COLUMN, ProgramCell("MPI_Reduce_scatter", 4, "", "MPI_SUM")): pytest.approx(
            1.2e-6
        ),
        Reading(OSU_COLUMN, ProgramCell("MPI_Reduce_scatter", 1024, "", "MPI_SUM")): pytest.approx(
            8.4e-6
        ),
    }
    assert read_osu("MPI_Barrier", BARRIER) == {
        Reading(OSU_COLUMN, ProgramCell("MPI_Barrier", 0)): pytest.approx(1.87e-6)
    }


@pytest.mark.parametrize("text", ["", "This test requires at least two processes\n", "# Size\n"])
def test_no_table_of_osu(text: str) -> None:
    with pytest.raises(Unreadable, match="no times"):
        read_osu("MPI_Allreduce", text)


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


PROGRAM = Path("/opt/imb/IMB-MPI1")
IMB = Imb(PROGRAM, nprocs=4, iterations=50)

TABLES = """#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks {version}, MPI-1 part
#----------------------------------------------------------------
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_FLOAT
# MPI_Op                         :   MPI_SUM
# List of Benchmarks to run:
# Gather
#----------------------------------------------------------------
# Benchmarking Gather
# #processes = {ranks}
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
          128           50         0.10        10.50         2.80
         1024           50         1.00        20.25        12.00

#----------------------------------------------------------------
# Benchmarking Reduce_scatter
# #processes = {ranks}
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
          128           50        11.00        12.00        11.50

#----------------------------------------------------------------
# Benchmarking Barrier
# #processes = {ranks}
#----------------------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
           50         1.00         1.50         1.25

#----------------------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0           50         0.30         0.00

# All processes entering MPI_Finalize
"""


def read_imb(text: str) -> dict[Reading, float]:
    return dict(IMB.read([str(PROGRAM)], HERE, text))


@pytest.mark.parametrize(("version", "moved"), [("2021.11", 512), ("2019", 512), ("2018", 128)])
def test_tables_of_imb(version: str, moved: int) -> None:
    """Reduce_scatter's size was the whole vector until 2018."""
    assert read_imb(TABLES.format(version=version, ranks=4)) == {
        Reading(IMB_COLUMN, ProgramCell("MPI_Gather", 512, "MPI_BYTE")): pytest.approx(10.5e-6),
        Reading(IMB_COLUMN, ProgramCell("MPI_Gather", 4096, "MPI_BYTE")): pytest.approx(20.25e-6),
        Reading(
            IMB_COLUMN, ProgramCell("MPI_Reduce_scatter", moved, "MPI_FLOAT", "MPI_SUM")
        ): pytest.approx(12e-6),
        Reading(IMB_COLUMN, ProgramCell("MPI_Barrier", 0)): pytest.approx(1.5e-6),
    }


def test_built_for_another_library() -> None:
    with pytest.raises(Unreadable, match="run on 1 ranks in place of 4; it must be built for"):
        read_imb(TABLES.format(version="2021.11", ranks=1))


@pytest.mark.parametrize("text", ["", "no such file", "# Intel(R) MPI Benchmarks 2021.11\n"])
def test_no_table_of_imb(text: str) -> None:
    with pytest.raises(Unreadable):
        read_imb(text)


def test_all_functions_in_one_launch(tmp_path: Path) -> None:
    winners = [
        build.winner(bytes_from=1000, bytes_to=5000),
        build.winner(function="MPI_Reduce_scatter", bytes_from=200, bytes_to=300),
        build.winner(function="MPI_Exscan", bytes_from=0, bytes_to=UNBOUNDED_BYTES),
    ]
    most = {one.function: 102400 for one in winners}
    offered = IMB.offers(Wanted(winners=winners, cells=[], nprocs=4, root=0, most=most))
    assert offered == [
        *(ProgramCell("MPI_Allreduce", size) for size in (1024, 2048, 4096)),
        ProgramCell("MPI_Reduce_scatter", 256),
    ]
    (words,) = IMB.launches(offered, [IMB_COLUMN], 1)
    assert words[0] == str(PROGRAM) and words[-2:] == ["Allreduce", "Reduce_scatter"]
    assert words[words.index("-npmin") + 1] == "4"
    assert words[words.index("-sync") + 1] == "on"
    assert words[words.index("-msglen") + 1] == f"{FOLDER}/lengths"
    IMB.prepare(offered, tmp_path)
    lengths = [int(line) for line in (tmp_path / "lengths").read_text().split()]
    assert lengths == [64, 256, 1024, 2048, 4096]


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    mpirun = tmp_path / "bin" / "mpirun"
    assert find_imb(None, mpirun) is None
    for folder in ("path", "bin", "named"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "IMB-MPI1").write_text("#!/bin/sh\n")
        (tmp_path / folder / "IMB-MPI1").chmod(0o755)
    assert find_imb(None, mpirun) == tmp_path / "bin" / "IMB-MPI1"
    (tmp_path / "bin" / "IMB-MPI1").unlink()
    assert find_imb(None, mpirun) == tmp_path / "path" / "IMB-MPI1"
    for named in (tmp_path / "named", tmp_path / "named" / "IMB-MPI1"):
        assert find_imb(named, mpirun) == tmp_path / "named" / "IMB-MPI1"
    with pytest.raises(UsageError, match="is no program"):
        find_imb(tmp_path / "nowhere", mpirun)


@pytest.mark.mpi
def test_the_real_one(tmp_path: Path) -> None:
    """That of Intel MPI's package."""
    family = IntelMpi()
    installation = installations.real(family, "impi-2021")
    program = find_imb(None, installation.mpirun)
    if program is None or program.parent != installation.mpirun.parent:
        pytest.skip(f"no IMB-MPI1 beside {installation.mpirun}")
    one = Imb(program, nprocs=2, iterations=5)
    functions = ("MPI_Allreduce", "MPI_Gather", "MPI_Reduce_scatter", "MPI_Barrier")
    winners = [
        build.winner(function=function, bytes_from=0, bytes_to=UNBOUNDED_BYTES)
        for function in functions
    ]
    most = {function: 256 for function in functions}
    offered = one.offers(Wanted(winners=winners, cells=[], nprocs=2, root=0, most=most))
    one.prepare(offered, tmp_path)
    (words,) = one.launches(offered, [IMB_COLUMN], 1)
    words = [word.replace(FOLDER, str(tmp_path)) for word in words]
    done = started(family, installation, Placement(nodes=1, ppn=2), words, {})
    assert done.status == 0, done.stderr + done.stdout
    found = one.read(words, tmp_path, done.stdout)
    cells = {reading.cell for reading in found}
    assert ProgramCell("MPI_Allreduce", 256, "MPI_FLOAT", "MPI_SUM") in cells
    assert ProgramCell("MPI_Gather", 256, "MPI_BYTE") in cells
    assert ProgramCell("MPI_Reduce_scatter", 256, "MPI_FLOAT", "MPI_SUM") in cells
    assert ProgramCell("MPI_Barrier", 0) in cells
