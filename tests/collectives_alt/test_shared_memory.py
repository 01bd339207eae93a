"""Variants in shared memory leave a job as it would be without them: messages make progress, memory
is bounded and given back, forks, threads, full file systems and deaths do no harm."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build
from tests.collectives_alt.started import Started, forced

RULES = forced(
    {f"MPI_{name}": f"{name.lower()}_shared_memory" for name in ("Barrier", "Bcast", "Allreduce")}
)
IN_TINY_SHM = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"'


# Large messages go in pieces, which both ranks handle.
IN_PIECES = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def shares(build: Build, folder: Path, what: str, nprocs: int = 2) -> Started:
    return Started(build, folder, RULES, what, program="shares", nprocs=nprocs, env=IN_PIECES)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("what", "nprocs"), [("progress", 2), ("fork", 2), ("threads", 2), ("threads", 3)]
)
def test_right_results(build: Build, tmp_path: Path, what: str, nprocs: int) -> None:
    run = shares(build, tmp_path, what, nprocs)
    assert (run.done.returncode, run.done.stdout) == (0, "ok\n"), run.done.stderr
    assert run.function("MPI_Barrier")["replaced"] > 0
    assert run.function("MPI_Barrier")["crowded"] == 0


@pytest.mark.mpi
def test_memory_is_bounded_and_given_back(build: Build, tmp_path: Path) -> None:
    run = shares(build, tmp_path, "many")
    assert run.done.returncode == 0, run.done.stderr
    found = re.search(r"shared=(\d+),(\d+) left=(\d+),(\d+)\nok", run.done.stdout)
    assert found, run.done.stdout
    first, second, *left = map(int, found.groups())
    # MPI_COMM_WORLD shares memory too, from its barrier on.
    assert 20 < first == second < 100
    assert left == [1, 1]
    # Two calls on each communicator that got none, in each of two rounds.
    assert run.function("MPI_Allreduce")["crowded"] == 2 * 2 * (101 - first)


@pytest.mark.mpi
@pytest.mark.parametrize("what", ["abort", "dies"])
def test_the_job_ends_with_a_rank(build: Build, tmp_path: Path, what: str) -> None:
    profile = tmp_path / "profile"
    profile.write_text(f"plumbline-profile 1\n{RULES}\n")
    begun = time.monotonic()
    done = start(build, profile, what)
    assert done.returncode != 0
    assert time.monotonic() - begun < 60
    assert "ok" not in done.stdout.split()


@pytest.mark.mpi
def test_a_full_file_system(build: Build, tmp_path: Path) -> None:
    """Nothing of ours is in /dev/shm; the library's own fallback is the same with and without."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("needs root and unshare for a /dev/shm of its own")
    profile = tmp_path / "profile"
    profile.write_text(f"plumbline-profile 1\n{RULES}\n")
    plain, ours = (
        start(build, chosen, "fork", within=["unshare", "--mount", "sh", "-c", IN_TINY_SHM, "sh"])
        for chosen in (None, profile)
    )
    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)


def start(
    build: Build, profile: Path | None, what: str, within: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program on three ranks; mpirun itself is not preloaded."""
    env = {"LD_PRELOAD": build.preload, "PLUMBLINE_PROFILE": profile} if profile else {}
    ranks = ["env", *(f"{name}={value}" for name, value in env.items())]
    command = ["mpirun", "--oversubscribe", "-np", "3", *ranks, build.program("shares"), what]
    return subprocess.run(
        [*(within or []), *map(str, command)], capture_output=True, text=True, timeout=100
    )
