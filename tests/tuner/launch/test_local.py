"""Ranks on this machine."""

from __future__ import annotations

from pathlib import Path

from plumbline.launch import launcher_for
from plumbline.libraries import Installation
from plumbline.system.placement import Placement
from tests.db import build
from tests.tuner.jobs import job


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
