"""plumbline.sh for MVAPICH2; what mpiexec does with it is shown by MPICH's, which is the same."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family import hydra, mvapich2
from tests.exporters import mpi
from tests.exporters.bundles import bundle, everywhere, variant, winner
from tests.tuner.families.installations import prefix_of

SCAN = variant("MPI_Scan", "scan_x", 1, 9)


given = partial(bundle, version="2.3.7", family="mvapich2")


def test_one_value_for_all_sizes() -> None:
    winners = [
        everywhere("MPI_Gather", MV2_INTER_GATHER_TUNING="1", MV2_USE_DIRECT_GATHER="0"),
        everywhere("MPI_Allreduce", MV2_INTER_ALLREDUCE_TUNING="9"),
    ]
    assert mvapich2.variables(given(*winners)) == {
        "MV2_INTER_ALLREDUCE_TUNING": "9",
        "MV2_INTER_GATHER_TUNING": "1",
        "MV2_USE_DIRECT_GATHER": "0",
    }


def test_values_by_size_turn_the_indexed_mode_off_for_their_function() -> None:
    winners = [
        everywhere("MPI_Reduce", MV2_INTER_REDUCE_TUNING="1:0-8191,5:8192-+"),
        everywhere("MPI_Allreduce", MV2_INTER_ALLREDUCE_TUNING="9"),
    ]
    assert mvapich2.variables(given(*winners)) == {
        "MV2_INTER_ALLREDUCE_TUNING": "9",
        "MV2_INTER_REDUCE_TUNING": "1:0-8191,5:8192-+",
        "MV2_USE_INDEXED_REDUCE_TUNING": "0",
        "MV2_USE_INDEXED_TUNING": "0",
    }


@pytest.mark.parametrize(
    ("winners", "what"),
    [
        (
            [winner("MPI_Bcast", {"MV2_INTER_BCAST_TUNING": "2"}, 64, 8191)],
            "cannot be told to decide itself",
        ),
        ([everywhere("MPI_Bcast", MV2_INTER_BCAST_TUNING="2:0-63,5:65-+")], "do not meet"),
        (
            [
                winner("MPI_Gather", {"MV2_INTER_GATHER_TUNING": "2"}, 0, 63),
                winner("MPI_Gather", {"MV2_INTER_GATHER_TUNING": "3"}, 64),
            ],
            "one value for all sizes; drop all but one",
        ),
        (
            [everywhere("MPI_Reduce", MV2_INTER_REDUCE_TUNING="1:0-63,8:64-+")],
            "algorithm 8 does not exist in ranges of sizes",
        ),
        (
            [
                everywhere("MPI_Bcast", MV2_USE_SHMEM_COLL="0"),
                everywhere("MPI_Scan", MV2_USE_SHMEM_COLL="1"),
            ],
            "a process has one value",
        ),
    ],
)
def test_what_the_library_cannot_be_told(winners: list[Winner], what: str) -> None:
    with pytest.raises(PlumblineError, match=what):
        mvapich2.files(given(*winners))


@pytest.mark.parametrize("path", ["/a b/x.so", "/a#b/x.so", "/a:b/x.so", '/a"b/x.so'])
def test_a_preload_library_that_hydra_would_take_apart(path: str) -> None:
    one = given(SCAN, preload_library=Path(path))
    with pytest.raises(PlumblineError, match="would split this path"):
        mvapich2.files(one)
    with pytest.raises(PlumblineError, match="none was named"):
        mvapich2.files(given(SCAN, preload_library=None))


def shell(folder: Path, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return mpi.shell(f". {folder}/plumbline.sh\n{text}", {"PATH": os.environ["PATH"]} | variables)


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    winners = (SCAN, everywhere("MPI_Bcast", MV2_INTER_BCAST_TUNING="2"))
    preload = mpi.empty(tmp_path / "ours.so")
    made = given(*winners, directory=tmp_path, preload_library=preload)
    for name, text in mvapich2.files(made).items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_file_of_options_of_the_user_s_own_is_left(exported: Path) -> None:
    done = shell(exported, 'echo "$HYDRA_CONFIG_FILE"', HYDRA_CONFIG_FILE="/theirs")
    assert done.stdout == "/theirs\n"
    assert "the variants are not in force" in done.stderr


@pytest.mark.mpi
def test_ranks_alone_have_the_preload_library(exported: Path) -> None:
    """Under a real hydra, MPICH's: MVAPICH2's is one of it."""
    mpiexec = f"{prefix_of('mpich-4.3')}/bin/mpiexec"
    say = "sh -c 'echo ${LD_PRELOAD-} ${PLUMBLINE_PROFILE-} ${MV2_INTER_BCAST_TUNING-}'"
    done = shell(exported, f'echo "shell ${{LD_PRELOAD-}}"\n{mpiexec} -n 2 {say}')
    rank = f"{exported}/ours.so {exported}/plumbline.profile 2"
    assert done.stdout.splitlines() == ["shell ", rank, rank], done.stderr
    assert done.stderr == ""
    assert hydra.FILE_NAME in {path.name for path in exported.iterdir()}


@pytest.mark.mpi
def test_a_preload_library_of_the_user_s_own_stays(exported: Path) -> None:
    theirs = exported / "theirs.so"
    theirs.write_bytes((exported / "ours.so").read_bytes())
    mpiexec = f"{prefix_of('mpich-4.3')}/bin/mpiexec"
    run = f"{mpiexec} -n 1 sh -c 'echo $LD_PRELOAD'"
    done = shell(exported, f". {exported}/plumbline.sh\n{run}", LD_PRELOAD=str(theirs))
    assert done.stdout == f"{exported}/ours.so:{theirs}\n", done.stderr
