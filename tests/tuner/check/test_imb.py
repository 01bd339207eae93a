"""Intel MPI Benchmarks: what is asked of them, what their tables say; the real ones if there."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.check.installed import IMB_COLUMN, Imb, find_imb
from plumbline.check.programs import FOLDER, ProgramCell, Reading, Unreadable, Wanted
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.system.placement import Placement
from plumbline_db.errors import UsageError
from plumbline_db.records import UNBOUNDED_BYTES
from tests.db import build
from tests.tuner.families import installations
from tests.tuner.families.started import started

HERE = Path("/unused")
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


def read(text: str) -> dict[Reading, float]:
    return dict(IMB.read([str(PROGRAM)], HERE, text))


@pytest.mark.parametrize(("version", "moved"), [("2021.11", 512), ("2019", 512), ("2018", 128)])
def test_tables(version: str, moved: int) -> None:
    """Reduce_scatter's size was the whole vector until 2018."""
    assert read(TABLES.format(version=version, ranks=4)) == {
        Reading(IMB_COLUMN, ProgramCell("MPI_Gather", 512, "MPI_BYTE")): pytest.approx(10.5e-6),
        Reading(IMB_COLUMN, ProgramCell("MPI_Gather", 4096, "MPI_BYTE")): pytest.approx(20.25e-6),
        Reading(
            IMB_COLUMN, ProgramCell("MPI_Reduce_scatter", moved, "MPI_FLOAT", "MPI_SUM")
        ): pytest.approx(12e-6),
        Reading(IMB_COLUMN, ProgramCell("MPI_Barrier", 0)): pytest.approx(1.5e-6),
    }


def test_built_for_another_library() -> None:
    with pytest.raises(Unreadable, match="run on 1 ranks in place of 4; it must be built for"):
        read(TABLES.format(version="2021.11", ranks=1))


@pytest.mark.parametrize("text", ["", "no such file", "# Intel(R) MPI Benchmarks 2021.11\n"])
def test_no_table(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text)


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
