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
SRUN = "SLURM_EXPORT_ENV"
LIST, INTERNAL = "OMPI_MCA_mca_base_env_list", "OMPI_MCA_mca_base_env_list_internal"


def added(
    family: str, version: str, given: Mapping[str, str], folder: Path, calls: str = "/scratch/calls"
) -> dict[str, str]:
    library = msgspec.structs.replace(build.LIBRARY, family=family, version=version, id=family)
    installation = Installation(library, Path("/opt/mpi/bin/mpirun"), None)
    variables = {"PLUMBLINE_CALLS": calls}
    found = into_ranks.environment(installation, OURS, variables, given, folder)
    assert "LD_PRELOAD" not in found  # mpirun would have it too
    listed = found.pop(SRUN).split(",")
    assert listed[-2:] == [f"LD_PRELOAD={preloads(given)}", f"PLUMBLINE_CALLS={calls}"]
    for args in ("OMPI_MCA_plm_slurm_args", "PRTE_MCA_plm_slurm_args"):
        assert found.pop(args, "--export=ALL") == "--export=ALL"
    return found


def preloads(given: Mapping[str, str]) -> str:
    return ":".join([str(OURS), *given.get("LD_PRELOAD", "").split()])


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


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ("", f"ALL,LD_PRELOAD={OURS}:b.so,PLUMBLINE_CALLS=/scratch/calls"),
        ("HOME,LD_PRELOAD=a.so", f"HOME,LD_PRELOAD={OURS}:a.so,PLUMBLINE_CALLS=/scratch/calls"),
        ("NONE", None),
        ("NIL", None),
    ],
)
def test_srun(tmp_path: Path, theirs: str, expected: str | None) -> None:
    """What a sourced file has put there stays in force, and is not preloaded twice."""
    installation = Installation(build.LIBRARY, Path("/opt/mpi/bin/mpirun"), None)
    given = {"LD_PRELOAD": "b.so"} | ({SRUN: theirs} if theirs else {})
    found = into_ranks.environment(installation, OURS, CALLS, given, tmp_path)
    assert found.get(SRUN) == expected
    again = into_ranks.environment(installation, OURS, CALLS, given | found, tmp_path)
    assert again.get(SRUN) == expected


def test_daemons_that_srun_starts_are_preloaded_nothing(tmp_path: Path) -> None:
    for version, name in (("4.1.4", "OMPI_MCA"), ("5.0.11", "PRTE_MCA")):
        library = msgspec.structs.replace(build.LIBRARY, version=version)
        installation = Installation(library, Path("/opt/mpi/bin/mpirun"), None)
        args = f"{name}_plm_slurm_args"
        for theirs, expected in (("", "--export=ALL"), ("-K", "-K --export=ALL")):
            given = {args: theirs} if theirs else {}
            found = into_ranks.environment(installation, OURS, CALLS, given, tmp_path)
            assert found[args] == expected
        given = {args: "--export=NONE"}
        assert into_ranks.environment(installation, OURS, CALLS, given, tmp_path)[args] == (
            "--export=NONE"
        )


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
