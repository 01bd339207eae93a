"""How launchers start ranks: binding words stand there where they were asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.launch.batch import Queue, SchedulerTable
from plumbline.launch.flux import Flux, FluxTable
from plumbline.launch.lsf import Lsf, LsfTable
from plumbline.launch.pbs import Pbs, PbsTable
from plumbline.launch.slurm import Slurm, SlurmTable
from plumbline.libraries import Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.system.placement import Placement
from tests.db import build
from tests.tuner.jobs import job

FREE = Placement(nodes=2, ppn=4)
CROWDED = Placement(nodes=2, ppn=4, oversubscribed=True)
HELD = "--oversubscribe --bind-to core:overload-allowed"


def queue(name: str, folder: Path) -> Queue[SchedulerTable]:
    if name == "srun":
        made = Slurm(SlurmTable(start="srun", mpi="pmix"), folder)
        made._mpi_type_is_known = True
        return made
    tables = {
        "flux": lambda: Flux(FluxTable(), folder),
        "flux, mpirun": lambda: Flux(FluxTable(start="mpirun"), folder),
        "slurm, mpirun": lambda: Slurm(SlurmTable(), folder),
        "pbs": lambda: Pbs(PbsTable(), folder),
        "lsf": lambda: Lsf(LsfTable(), folder),
    }
    return tables[name]()


@pytest.mark.parametrize(
    ("name", "crowded", "plain"),
    [
        ("srun", "--overcommit", "--overcommit"),
        ("flux", "", ""),
        ("flux, mpirun", HELD, "--oversubscribe"),
        ("slurm, mpirun", HELD, "--oversubscribe"),
        ("pbs", HELD, "--oversubscribe"),
        ("lsf", HELD, "--oversubscribe"),
    ],
)
def test_words(name: str, crowded: str, plain: str, tmp_path: Path) -> None:
    made = queue(name, tmp_path)

    def words(placement: Placement) -> list[str]:
        installation = Installation(build.LIBRARY, Path("mpirun"), None)
        return made.words(OpenMpi(), installation, job(tmp_path, ["probe"], placement, {}))

    bare = words(FREE)
    assert not any("bind" in word or "affinity" in word for word in bare)
    assert words(FREE.plain()) == bare
    for placement, more in ((CROWDED, crowded), (CROWDED.plain(), plain)):
        assert [word for word in words(placement) if word not in bare] == more.split()
    bound = words(Placement(nodes=2, ppn=4, bind="core"))
    assert any("bind" in word or "affinity" in word for word in bound)
