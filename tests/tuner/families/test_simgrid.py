"""SimGrid is found, as several libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries.simgrid import SimGrid
from plumbline.simulation import SELECTORS
from plumbline_db.errors import PlumblineError
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import ON_PATH


class TestSimGrid(Conformance):
    family = SimGrid()
    real = (ON_PATH,)
    different = (("version 3.32", "version 3.33"), ("none, release version", "47da2ed"))


def test_no_simgrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlumblineError, match=r"no smpirun on PATH.*Debian: libsimgrid-dev.*make"):
        libraries.find_simulated("ompi")
    with pytest.raises(PlumblineError, match="no smpirun under"):
        libraries.find_simulated("ompi", tmp_path)


def simgrid(folder: Path, says: str = "SimGrid version 3.99") -> Path:
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    smpirun = folder / "bin" / "smpirun"
    smpirun.write_text(f'#!/bin/sh\n[ "$1" = -version ] && echo "{says}" || echo abc\n')
    smpirun.chmod(0o755)
    return folder


def test_one_installation_is_several_libraries(tmp_path: Path) -> None:
    found = [libraries.find_simulated(one, simgrid(tmp_path))[1].library for one in SELECTORS]
    assert [one.id for one in found] == [f"simgrid-3.99-{one}" for one in SELECTORS]
    assert len({one.fingerprint for one in found}) == len(SELECTORS)
    assert {one.version for one in found} == {"3.99"}


def test_another_program_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match="is this SimGrid's"):
        libraries.find_simulated("ompi", simgrid(tmp_path, "smpirun of somebody else"))


def test_simgrid_is_no_library_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{simgrid(tmp_path) / 'bin'}")
    with pytest.raises(PlumblineError, match="no supported MPI library found"):
        libraries.find()
