"""The table of families, and who is asked when."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries.openmpi import OpenMpi
from plumbline_db.errors import PlumblineError
from tests.tuner.families import installations


def test_no_library_is_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlumblineError, match=r"no supported MPI library found on PATH .*Debian: o"):
        libraries.find()
    with pytest.raises(PlumblineError, match=rf"found under {tmp_path}/none .*--mpi PREFIX"):
        libraries.find(tmp_path / "none")
    (tmp_path / "bin").mkdir()
    installations.script(tmp_path / "bin" / "mpirun", "exit 0")  # another MPI: it has no ompi_info
    with pytest.raises(PlumblineError, match="no supported MPI library"):
        libraries.find(tmp_path)


def test_names_are_registered_once() -> None:
    assert set(libraries.families()) == set(installations.all_recorded())
    with pytest.raises(ValueError, match="openmpi is registered twice"):
        libraries.family(OpenMpi)


@pytest.mark.parametrize("version", ["", "x", "../../etc", "4.1.4/..", "9" * 5000, "4.1.4 rm"])
def test_a_library_that_calls_itself_nothing(tmp_path: Path, version: str) -> None:
    """Its id is the name of folders and files."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "said").write_text(f"ompi:version:full:{version}\npath:prefix:/\n")
    installations.script(tmp_path / "bin" / "mpirun", "exit 0")
    installations.script(tmp_path / "bin" / "ompi_info", f"cat {tmp_path}/said")
    with pytest.raises(PlumblineError, match=r"version|calls itself"):
        libraries.find(tmp_path)
