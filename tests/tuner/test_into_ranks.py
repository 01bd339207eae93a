"""How the recording library enters ranks: by variables that mpirun itself is not preloaded by.
That ranks have it is tested with the libraries (test_profiling.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from plumbline.libraries import Installation, into_ranks
from plumbline_db.errors import PlumblineError
from tests.db import build

OURS = Path("/opt/plumbline/libplumbline.so")
CALLS = {"PLUMBLINE_CALLS": "/scratch/calls"}
LIST, INTERNAL = "OMPI_MCA_mca_base_env_list", "OMPI_MCA_mca_base_env_list_internal"


def added(
    family: str, version: str, given: Mapping[str, str], folder: Path, calls: str = "/scratch/calls"
) -> dict[str, str]:
    library = msgspec.structs.replace(build.LIBRARY, family=family, version=version, id=family)
    installation = Installation(library, Path("/opt/mpi/bin/mpirun"), None)
    variables = {"PLUMBLINE_CALLS": calls}
    found = into_ranks.environment(installation, OURS, variables, given, folder)
    assert "LD_PRELOAD" not in found  # mpirun would have it too
    return found


@pytest.mark.parametrize(
    ("version", "given", "name", "expected"),
    [
        ("4.1.4", {}, INTERNAL, f"LD_PRELOAD={OURS};"),
        ("5.0.11", {}, LIST, f"LD_PRELOAD={OURS};"),
        ("6.0.0", {}, LIST, f"LD_PRELOAD={OURS};"),
        ("4.1.4", {"LD_PRELOAD": "a.so b.so"}, INTERNAL, f"LD_PRELOAD={OURS}:a.so:b.so;"),
        ("4.1.4", {LIST: "A=1;LD_PRELOAD=a.so"}, LIST, f"A=1;LD_PRELOAD={OURS}:a.so;"),
        # plumbline.sh was sourced: the winners stay in force.
        (
            "4.1.4",
            {INTERNAL: f"LD_PRELOAD={OURS};PLUMBLINE_PROFILE=/p"},
            INTERNAL,
            f"PLUMBLINE_PROFILE=/p;LD_PRELOAD={OURS};",
        ),
        ("5.0.11", {LIST: f"A;LD_PRELOAD={OURS}:a.so"}, LIST, f"A;LD_PRELOAD={OURS}:a.so;"),
    ],
)
def test_open_mpi(
    tmp_path: Path, version: str, given: dict[str, str], name: str, expected: str
) -> None:
    found = added("openmpi", version, given, tmp_path)
    assert found == {name: f"{expected}PLUMBLINE_CALLS=/scratch/calls"}


@pytest.mark.parametrize("family", ["mpich", "mvapich", "mvapich2"])
def test_hydra(tmp_path: Path, family: str) -> None:
    found = added(family, "5.0.2", {"LD_PRELOAD": "a.so"}, tmp_path)
    assert found == {"HYDRA_CONFIG_FILE": str(tmp_path / "ranks.hydra")} | CALLS
    assert (tmp_path / "ranks.hydra").read_text() == f"-genv LD_PRELOAD {OURS}:a.so\n"


def test_hydra_with_options_of_its_own(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text(f"# exported\n-genv LD_PRELOAD {OURS}:b.so -genv A 1\n")
    added("mpich", "5.0.2", {"HYDRA_CONFIG_FILE": str(theirs)}, tmp_path)
    expected = f"-genv LD_PRELOAD {OURS}:b.so -genv A 1\n"
    assert (tmp_path / "ranks.hydra").read_text() == expected
    with pytest.raises(PlumblineError, match="HYDRA_CONFIG_FILE"):
        added("mpich", "5.0.2", {"HYDRA_CONFIG_FILE": "/none"}, tmp_path)


def test_intel_mpi(tmp_path: Path) -> None:
    found = added("intelmpi", "2021.17", {"LD_PRELOAD": "a.so"}, tmp_path)
    tool = f"env LD_PRELOAD={OURS}:a.so:all"
    assert found == {"I_MPI_GTOOL": tool} | CALLS
    assert added("intelmpi", "2021.17", {"I_MPI_GTOOL": tool}, tmp_path)["I_MPI_GTOOL"] == tool
    with pytest.raises(PlumblineError, match="I_MPI_GTOOL"):
        added("intelmpi", "2021.17", {"I_MPI_GTOOL": "valgrind:0"}, tmp_path)


@pytest.mark.parametrize("path", ["/my files", "/a:b", "/a;b", "/a$b", "/a,b", "/a\nb", "/a'b"])
def test_a_path_that_would_be_split(tmp_path: Path, path: str) -> None:
    with pytest.raises(PlumblineError, match="move it to a path without"):
        added("openmpi", "4.1.4", {}, tmp_path, path)


def test_a_library_without_a_way(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match="nothing can be preloaded"):
        added("simgrid", "3.32", {}, tmp_path)
