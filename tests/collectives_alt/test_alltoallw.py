"""MPI_Alltoallw: variants and replaced calls against plain messages."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from plumbline.results import profiling
from tests.collectives_alt.programs import ADDRESSES, HERE, ROOM, Build, make, mpiexec, mpirun
from tests.collectives_alt.started import accepted, rule
from tests.collectives_alt.test_planted_errors import FLAGS, FOLDERS
from tests.collectives_alt.test_variants import FEW, GARBAGE, NO_LEAKS

pytestmark = pytest.mark.mpi

CALLS = 738
"""Calls of variants in alltoallw.c."""
LEGAL = 240
WRONGS = 16
"""Cases of an application in alltoallw.c, and its calls in `wrongs`. Open MPI takes two of these;
nothing replaces the others."""
PLANTED = {
    "displacements are in elements": ("pl_at(buf, displ, MPI_BYTE)", "pl_at(buf, displ, type)"),
    "every block is sent from one place": ("call->sdispls[other],\n", "call->sdispls[0],\n"),
    "empty messages are sent": ("block->count > 0 &&", "block->count >= 0 ||"),
}


@pytest.mark.parametrize("nprocs", FEW)
def test_same_blocks_as_plain_messages(build: Build, nprocs: int) -> None:
    """Blocks that are not empty are one message each."""
    done = mpirun(nprocs, build.program("alltoallw"), env=GARBAGE, timeout=100)
    assert (done.returncode, done.stdout) == (0, f"ok {CALLS} calls\n"), done.stdout + done.stderr


@pytest.mark.parametrize("nprocs", [1, 4])
def test_addresses(nprocs: int) -> None:
    build = make("alltoallw", sanitizers=ADDRESSES, kind="tests-guarded")
    done = mpirun(nprocs, build.program("alltoallw"), env=NO_LEAKS, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mpich(under_mpich: Build, tmp_path: Path) -> None:
    """MPICH takes empty blocks without a datatype."""
    program = under_mpich.program("alltoallw")
    done = mpiexec(2, program, env=GARBAGE, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"ok {CALLS} calls\n"), done.stdout + done.stderr
    env = replacing(under_mpich, tmp_path, "alltoallw_pairwise")
    done = mpiexec(2, program, "call", env=env, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"ok {LEGAL} calls\n"), done.stdout + done.stderr
    assert replaced(tmp_path) >= LEGAL


def replacing(build: Build, folder: Path, variant: str) -> dict[str, str]:
    """Return the environment in which a profile replaces all calls."""
    (folder / "profile").write_text(f"plumbline-profile 1\n{rule('MPI_Alltoallw', variant)}\n")
    return {
        "LD_PRELOAD": str(build.preload),
        "PLUMBLINE_PROFILE": str(folder / "profile"),
        "PLUMBLINE_REPORT": str(folder / "report"),
    }


def replaced(folder: Path) -> int:
    (function,) = json.loads((folder / "report").read_text())["functions"]
    assert function["function"] == "MPI_Alltoallw"
    return int(function["replaced"])


@pytest.mark.parametrize("nprocs", [2, 4, 7])
def test_a_profile_replaces_it(build: Build, tmp_path: Path, nprocs: int) -> None:
    """On one rank nothing is replaced; there Open MPI multiplies displacements by the extent."""
    env = replacing(build, tmp_path, "alltoallw_pairwise")
    done = mpirun(nprocs, build.program("alltoallw"), "call", env=env)
    assert (done.returncode, done.stdout) == (0, f"ok {LEGAL} calls\n"), done.stdout + done.stderr
    (function,) = json.loads((tmp_path / "report").read_text())["functions"]
    assert (replaced(tmp_path), function["calls"]) == (LEGAL + 2, LEGAL + WRONGS)


def test_in_place_is_left_to_the_library(build: Build, tmp_path: Path) -> None:
    env = replacing(build, tmp_path, "alltoallw_windowed:window=2")
    done = mpirun(4, build.program("alltoallw"), "call", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert LEGAL / 2 < replaced(tmp_path) < LEGAL


def test_only_rules_for_all_volumes(build: Build) -> None:
    """Not all ranks know the volume."""
    for name in ("alltoallw_pairwise", "alltoallw_windowed", "alltoallw_windowed:window=4"):
        assert accepted(build, rule("MPI_Alltoallw", name))
        assert not accepted(build, rule("MPI_Alltoallw", name, "nprocs=1-inf bytes=0-64"))
    assert not accepted(build, rule("MPI_Alltoallv", "alltoallw_pairwise"))


def test_what_is_received_is_recorded(build: Build, tmp_path: Path) -> None:
    """Bytes of each rank and each call, of any of the datatypes."""
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_CALLS": str(tmp_path)}
    done = mpirun(3, build.program("alltoallw"), "call", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    for one in profiling.ranks(tmp_path):
        named = {key: calls for key, (calls, *_) in one.calls.items() if key[0] == "MPI_Alltoallw"}
        assert sum(named.values()) == LEGAL + WRONGS
        assert len(named) > 20  # volumes


@pytest.mark.parametrize("error", PLANTED)
def test_errors_are_found(build: Build, tmp_path: Path, error: str) -> None:
    """The program with a wrong file in place of the one in the archive of the variants."""
    right, wrong = PLANTED[error]
    text = (ROOM / "common" / "everyone.c").read_text()
    assert text.count(right) == 1
    source, program = tmp_path / "everyone.c", tmp_path / "planted"
    source.write_text(text.replace(right, wrong))
    parts = ("alltoallw.c", "typed_blocks.c", "draw.c")
    files = [*(str(HERE / part) for part in parts), str(source)]
    words = ["mpicc", *FLAGS, *FOLDERS, *files, str(build.archive), "-lm", "-o", str(program)]
    subprocess.run(words, check=True, timeout=120)
    done = mpirun(4, program, env=GARBAGE)
    found = set(re.findall(r"^not ok case \d+: (alltoallw_[a-z]+)", done.stdout, re.MULTILINE))
    assert done.returncode != 0
    assert found == {"alltoallw_pairwise", "alltoallw_windowed"}, done.stdout + done.stderr
