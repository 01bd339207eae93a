"""How launchers start ranks: binding words stand there where they were asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.launch import launcher_for
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


# --- ranks on this machine ------------------------------------------------------------------------


class Nothing:
    """Of the words of a family this takes none: what it calls mpirun starts the program itself."""

    def words(self, placement: Placement) -> list[str]:
        del placement
        return ["-c", 'touch "$TMPDIR/left"; echo "$TMPDIR"']


def test_what_mpirun_leaves_behind_goes_with_the_folder_of_the_launch() -> None:
    """An mpirun that is ended before it listens to signals leaves its session's folder."""
    local = launcher_for(None)
    installation = Installation(build.LIBRARY, Path("/bin/sh"), None)
    with local.folder("launch") as folder:
        one = job(folder, [], Placement(nodes=1, ppn=2))
        done = local.run(Nothing(), installation, one)  # type: ignore[arg-type]
        assert done.stdout.split() == [str(folder)] and (folder / "left").exists()
    assert not folder.exists()
