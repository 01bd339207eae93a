"""Communicators that a rule is not for, or that get no private one; and the end of MPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.collectives_alt.programs import Build, mpiexec, mpirun
from tests.collectives_alt.started import Started, forced, rule, turns

pytestmark = pytest.mark.mpi

ALL = forced(
    {
        "MPI_Allreduce": "allreduce_recursive_doubling",
        "MPI_Bcast": "bcast_binomial",
        "MPI_Barrier": "barrier_dissemination",
    }
)


@pytest.mark.parametrize(
    ("most", "count", "replaced"), [(0, 10, 0), (7, 10, 7 * 2), (None, 140, 128 * 2)]
)
def test_private_communicators_are_not_without_limit(
    build: Build, tmp_path: Path, most: int | None, count: int, replaced: int
) -> None:
    line = "" if most is None else f"communicators most={most}\n"
    run = Started(build, tmp_path, line + ALL, str(count), program="crowd", nprocs=2)
    assert (run.done.returncode, run.done.stdout) == (0, "ok\n")
    counted = run.function("MPI_Allreduce")
    # The calls at the end: MPI_COMM_WORLD has room, unless nobody has.
    assert counted["calls"] == 2 * count + 2
    assert counted["replaced"] == replaced + (0 if most == 0 else 2)
    assert counted["crowded"] == counted["fallen_through"]
    assert run.report["communicators"] == (0 if most == 0 else 1)
    said = f"plumbline: {counted['crowded']} calls were left to the library"
    assert run.done.stderr.startswith(said) and run.done.stderr.count("\n") == 1


def test_ranks_agree_on_the_limit(build: Build, tmp_path: Path) -> None:
    """Ranks 0 and 1 have as many as they may; rank 2 has none."""
    rules = f"communicators most=3\n{ALL}"
    run = Started(build, tmp_path, rules, "3", "pairs", program="crowd", nprocs=3, timeout=120)
    assert (run.done.returncode, run.done.stdout) == (0, "ok\n")
    # On the three pairs thrice, at the end on MPI_COMM_WORLD; not on the copy of it.
    counted = run.function("MPI_Allreduce")
    assert (counted["replaced"], counted["crowded"]) == (3 * 3 + 2, 3)


def test_nothing_is_done_before_a_call_is_left(build: Build, tmp_path: Path) -> None:
    """Every variant asks for its private communicator first: no buffer is changed before."""
    plain = mpirun(3, build.program("application"), "all")
    left: set[str] = set()
    for chosen in turns(build):
        rules = f"communicators most=0\n{forced(chosen)}"
        run = Started(build, tmp_path, rules, "all", nprocs=3)
        assert (run.done.returncode, run.done.stdout) == (0, plain.stdout), chosen
        for one in run.report["functions"]:
            if one["crowded"]:
                left.add(chosen[one["function"]])
    assert {"bcast_binomial", "allreduce_ring", "exscan_as_scan_plus_sendrecv"} <= left
    assert len(left) > 60


@pytest.mark.parametrize("arguments", [("1500",), ("5", "own")])
def test_an_application_with_most_of_mpichs_context_ids(
    under_mpich: Build, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """MPICH has 2048 of them."""
    done = by_mpiexec(under_mpich, tmp_path, ALL, "crowd", *arguments)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert "calls were left to the library" in done.stderr


@pytest.mark.parametrize("more", ["", " nodes=1-1"])
def test_an_application_with_all_of_them(under_mpich: Build, tmp_path: Path, more: str) -> None:
    """Who shares a node is asked by a communicator too."""
    done = by_mpiexec(
        under_mpich, tmp_path, ALL.replace("=0-inf", f"=0-inf{more}"), "crowd", "0", "own"
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


OTHERS = {
    "without": ["env", "-u", "LD_PRELOAD"],
    "none": ["env", "-u", "PLUMBLINE_PROFILE"],
    "others": ["env", "PLUMBLINE_PROFILE={other}"],
    "same": ["env"],
}


def other_job(build: Build, folder: Path, kind: str) -> list[str]:
    other = folder / "other.profile"
    other.write_text(f"plumbline-profile 1\n{rule('MPI_Allreduce', 'allreduce_ring')}\n")
    words = [word.format(other=other) for word in OTHERS[kind]]
    return [*words, str(build.program("jobs"))]


@pytest.mark.parametrize(
    ("kind", "recorded"), [("others", False), *((kind, True) for kind in OTHERS)]
)
def test_jobs_with_different_rules(build: Build, tmp_path: Path, kind: str, recorded: bool) -> None:
    """On communicators with ranks of both the rules of neither hold."""
    command = other_job(build, tmp_path, kind)
    env = {"PLUMBLINE_CALLS": str(tmp_path)} if recorded else {}
    run = Started(build, tmp_path, ALL, *command, program="jobs", nprocs=2, env=env, timeout=120)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == (0, "ok\n", "")
    for function in ("MPI_Allreduce", "MPI_Bcast", "MPI_Barrier"):
        counted = run.function(function)
        assert (counted["calls"], counted["replaced"]) == (12, 6), function


@pytest.mark.parametrize("kind", ["without", "others"])
def test_jobs_under_mpich(under_mpich: Build, tmp_path: Path, kind: str) -> None:
    words = other_job(under_mpich, tmp_path, kind)
    done = by_mpiexec(under_mpich, tmp_path, ALL, "jobs", *words, nprocs=1)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_callbacks_in_finalize(build: Build, tmp_path: Path) -> None:
    run = Started(build, tmp_path, ALL, "world", program="farewell", nprocs=3, timeout=120)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    assert run.done.stdout == "before ok\nself ok\nworld ok\n"


def test_callbacks_in_finalize_of_mpich(under_mpich: Build, tmp_path: Path) -> None:
    done = by_mpiexec(under_mpich, tmp_path, ALL, "farewell", "world")
    assert (done.returncode, done.stdout) == (0, "before ok\nself ok\nworld ok\n"), done.stderr


def by_mpiexec(
    build: Build, folder: Path, rules: str, program: str, *arguments: str, nprocs: int = 2
) -> subprocess.CompletedProcess[str]:
    profile = folder / "site.profile"
    profile.write_text(f"plumbline-profile 1\n{rules}\n")
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_PROFILE": str(profile)}
    return mpiexec(nprocs, build.program(program), *arguments, env=env, timeout=200)


@pytest.mark.parametrize("vectors", [2, 6])
def test_scratch_memory_of_all_communicators(build: Build, tmp_path: Path, vectors: int) -> None:
    """24 communicators, whose vectors of 64 KiB do not fit; nothing falls through for that."""
    profile = tmp_path / "profile"
    cap = vectors * 80_000
    profile.write_text(f"plumbline-profile 1\nmemory bytes={cap}\n{ALL}\n")
    env = {"PLUMBLINE_PROFILE": str(profile)}
    done = mpirun(2, build.program("scratch"), str(cap), env=env, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "in turn 1 at the same time 1 left 0\n"
