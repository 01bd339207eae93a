"""The real `loops` under every family's plain mpirun, and its times read back."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.check.acceptance import placement_of
from plumbline.check.programs import COLUMNS, FOLDER, Loops, ProgramCell, Reading, Unreadable
from plumbline.libraries import Family
from plumbline.libraries.intelmpi import IntelMpi
from plumbline.libraries.mpich import Mpich
from plumbline.libraries.openmpi import OpenMpi
from plumbline.settings.campaign_file import load
from plumbline.system import paths
from tests.tuner.families import installations
from tests.tuner.families.started import started

CELLS = [
    ProgramCell("MPI_Allreduce", 1000, "MPI_DOUBLE", "MPI_SUM"),
    ProgramCell("MPI_Gather", 1002, "MPI_BYTE"),
    ProgramCell("MPI_Gatherv", 1002, "MPI_BYTE", counts="last"),
    ProgramCell("MPI_Reduce_scatter", 1008, "MPI_DOUBLE", "MPI_SUM", "half"),
    ProgramCell("MPI_Barrier", 0, "MPI_BYTE"),
]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("family", "name"),
    [
        (OpenMpi(), installations.ON_PATH),
        (OpenMpi(), "openmpi-5.0"),
        (Mpich(), "mpich-5.0"),
        (IntelMpi(), "impi-2021"),
    ],
    ids=["openmpi", "openmpi-5.0", "mpich-5.0", "impi-2021"],
)
def test_all_cells_in_all_loops(family: Family, name: str, tmp_path: Path) -> None:
    installation = installations.real(family, name)
    program = installations.ROOT / "build" / paths.build_id(installation.library) / "loops"
    if not program.is_file():
        pytest.skip(f"no {program}: make build MPICC={installation.mpicc}")
    ours = Loops(program, iterations=3, root=1)
    (words,) = ours.launches(CELLS, list(COLUMNS), 7)
    placement = placement_of(load(None, {"nprocs": 2}), processing_units=2)
    words = [word.replace(FOLDER, str(tmp_path)) for word in words]
    done = started(family, installation, placement, words, {})
    assert done.status == 0, done.stderr + done.stdout
    found = ours.read(words, tmp_path, done.stdout)
    assert set(found) == {Reading(loop, cell) for loop in COLUMNS for cell in CELLS}
    assert all(seconds > 0 for seconds in found.values())
    assert not any(word.startswith(("--bind", "-bind", "I_MPI_PIN")) for word in done.argv)


def test_what_has_written_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="written no times"):
        Loops(Path("loops"), iterations=3, root=0).read([], tmp_path, "")
