"""What libplumbline.so records of the calls of programs that know nothing of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from plumbline.core.application import Application, Calls
from plumbline.results import profiling
from tests.collectives_alt.applications import Hpcc
from tests.collectives_alt.programs import HERE, Build, mpirun, of_parts
from tests.collectives_alt.started import Started
from tests.collectives_alt.test_preload import RULES

pytestmark = pytest.mark.mpi


def recording(build: Build, folder: Path, *arguments: str, **more: Any) -> tuple[Started, Path]:
    """One run of a program, and the folder with what its ranks left."""
    calls = folder / "calls"
    calls.mkdir()
    env = {"PLUMBLINE_CALLS": str(calls)}
    return Started(build, folder, more.pop("rules", None), *arguments, env=env, **more), calls


def merged(folder: Path) -> Application:
    assert [one.name for one in folder.iterdir() if one.suffix != profiling.SUFFIX] == []
    found = profiling.ranks(folder)
    return profiling.application(found, version="", command=[], started="", status=0)


def counts(found: Application) -> dict[tuple[str, int, int | None, int | None], float]:
    """Calls of a rank by function, ranks, nodes and bytes."""
    return {(one.function, one.nprocs, one.nodes, one.bytes): one.calls for one in found.calls}


def of(found: Application, function: str) -> list[Calls]:
    return [one for one in found.calls if one.function == function]


# What application.c calls on 4 ranks of one node.
APPLICATION = {
    **{("MPI_Allreduce", 4, 1, 4 * n): 1.0 for n in (1, 10, 100, 1000)},
    ("MPI_Allreduce", 2, 1, 4): 1.0,
    ("MPI_Allreduce", 2, None, None): 1.0,  # between two groups
    ("MPI_Reduce", 4, 1, 4000): 1.0,
    ("MPI_Reduce", 4, 1, 8): 1.0,
    ("MPI_Gather", 4, 1, 160): 1.0,
    ("MPI_Bcast", 4, 1, 4000): 1.0,
    ("MPI_Barrier", 4, 1, 0): 1.0,
}


@pytest.mark.parametrize("start", ["init", "thread"])
@pytest.mark.parametrize("rules", [None, RULES])
def test_every_call_is_there_once(
    build: Build, tmp_path: Path, start: str, rules: str | None
) -> None:
    plain = mpirun(4, build.program("application"))
    run, calls = recording(build, tmp_path, start, rules=rules)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == (0, plain.stdout, "")
    assert len(list(calls.iterdir())) == 1  # for all ranks of the node
    found = merged(calls)
    assert counts(found) == APPLICATION
    assert (found.nprocs, found.ranks, found.finished, found.lost) == (4, 4, 4, 0)
    assert found.library.startswith("Open MPI v")
    assert all(0 < one.fastest_seconds <= one.seconds / one.calls * 4 for one in found.calls)
    assert 0 < found.collective_seconds < found.seconds
    if rules is not None:  # what is replaced is recorded like the rest
        assert sum(run.replaced().values()) == 4


def test_calls_without_equal_parts(build: Build, tmp_path: Path) -> None:
    """Blocks of 1, 2, 3 and 4 numbers: what a rank can know of their sum."""
    _, calls = recording(build, tmp_path, "all")
    found = merged(calls)
    functions = {one.function for one in found.calls}
    assert len(functions) == 16 and "MPI_Reduce_local" not in functions
    for name in ("MPI_Gatherv", "MPI_Scatterv"):
        # The root knows all 10; another rank takes all blocks for as long as its own. Two roots.
        total = {one.bytes: round(one.calls, 3) for one in of(found, name)}
        assert total == {16: 0.25, 32: 0.5, 40: 0.5, 48: 0.5, 64: 0.25}
    assert {one.bytes for one in of(found, "MPI_Allgatherv")} == {40}
    assert {one.bytes for one in of(found, "MPI_Reduce_scatter")} == {40}
    # Rank i receives min(i, j) + 1 numbers from j.
    assert {one.bytes: one.calls for one in of(found, "MPI_Alltoallv")} == {
        size: 0.5 for size in (16, 28, 36, 40)
    }


def test_what_is_sent_and_when_ranks_enter(build: Build, tmp_path: Path) -> None:
    """The root alone knows the shape of a Gatherv. Who waits for a late rank follows it at once."""
    _, calls = recording(build, tmp_path, program="uneven")
    found = merged(calls)
    (gathered,) = of(found, "MPI_Allgatherv")
    assert (gathered.type, gathered.counts) == ("MPI_DOUBLE", "linear")
    gathers = {(one.type, one.counts) for one in of(found, "MPI_Gatherv")}
    assert gathers == {("MPI_INT", "last"), ("MPI_INT", "")}
    (late,), (sent,) = of(found, "MPI_Allreduce"), of(found, "MPI_Bcast")
    assert (late.type, late.counts, sent.type) == ("MPI_FLOAT", "", "derived")
    assert late.spread_seconds is not None and late.spread_seconds > 1.5e-3
    # Rank 1 has slept before; on a busy machine it was kept from its core once in a while.
    assert 0 < late.following <= 0.75 * late.calls + 1
    (barrier,) = of(found, "MPI_Barrier")
    assert (barrier.type, barrier.counts) == ("", "")


def test_ranks_that_are_started_behind_its_back(build: Build, tmp_path: Path) -> None:
    _, calls = recording(build, tmp_path, "unseen")
    found = merged(calls)
    # The first call of all is what wakes it.
    assert counts(found) == {
        key: value for key, value in APPLICATION.items() if key[3] != 4 or key[1] == 2
    }


def test_threads_and_handles_that_are_used_again(build: Build, tmp_path: Path) -> None:
    canary = "rule function=MPI_Allreduce nprocs=2-2 bytes=0-inf variant=canary"
    run, calls = recording(build, tmp_path, program="communicators", rules=canary)
    assert run.done.stdout.startswith("ok level=3 bad=0 ")
    for one in profiling.ranks(calls):
        # 2 threads x 60 rounds x 3 calls, on 2 ranks and on all in turn; 15 and the sum besides
        assert {key[1:]: count for key, (count, *_) in one.calls.items()} == {
            (2, 1, 2, 4): 2 * 30 * 3,
            (4, 1, 4, 4): 2 * (30 * 3 + 15),
            (4, 1, 4, 8): 1,
        }


def test_a_killed_rank_leaves_what_it_called(build: Build, tmp_path: Path) -> None:
    """More volumes than the first table holds, and nobody reaches MPI_Finalize."""
    calls = tmp_path / "calls"
    calls.mkdir()
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_CALLS": str(calls)}
    done = mpirun(3, build.program("killed"), "500", env=env)
    assert done.returncode != 0
    found = profiling.ranks(calls)
    assert [one.finished for one in found] == [False] * 3
    for one in found:
        allreduces = {key[4]: value[0] for key, value in one.calls.items() if "Allred" in key[0]}
        assert allreduces == dict.fromkeys(range(1, 501), 1)
    whole = profiling.application(found, version="", command=[], started="", status=137)
    assert (whole.ranks, whole.finished) == (3, 0)
    assert sum(one.calls for one in of(whole, "MPI_Allreduce")) == pytest.approx(500)
    assert len(of(whole, "MPI_Allreduce")) <= 64  # volumes close to each other are one


def test_a_folder_that_is_not_there(build: Build, tmp_path: Path) -> None:
    """Nobody records then: ranks that did would wait for the others."""
    plain = mpirun(4, build.program("application"))
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_CALLS": str(tmp_path / "none")}
    done = mpirun(4, build.program("application"), env=env)
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert done.stderr.count("no calls are recorded") == 4


def test_rank_0_names_the_folder(build: Build, tmp_path: Path) -> None:
    """Of ranks that see another one, or none, as behind an mpirun without -x."""
    calls = tmp_path / "calls"
    calls.mkdir()

    folders = ((1, calls), (3, "/nowhere"))
    parts = [(n, {"LD_PRELOAD": build.preload, "PLUMBLINE_CALLS": at}) for n, at in folders]
    done = of_parts(build.program("application"), *parts)
    assert (done.returncode, done.stderr) == (0, "")
    assert counts(merged(calls)) == APPLICATION


def test_a_spawned_process_is_not_recorded(build: Build, tmp_path: Path) -> None:
    run, calls = recording(build, tmp_path, program="spawns", nprocs=1)
    assert run.done.stdout == "ok\n"
    assert counts(merged(calls)) == {("MPI_Allreduce", 1, 1, 4): 3.0}


def test_two_jobs_add_up(build: Build, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.mkdir()
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_CALLS": str(calls)}
    for _ in range(2):
        assert mpirun(4, build.program("application"), env=env).returncode == 0
    found = merged(calls)
    assert counts(found) == {key: 2.0 for key in APPLICATION}
    assert (found.nprocs, found.ranks) == (4, 8)


@pytest.mark.skipif(not Hpcc.program, reason="no hpcc; install the Debian package")
def test_hpcc_as_its_counters_say(build: Build, tmp_path: Path) -> None:
    """The report of the same run counts calls in another way, on rank 0."""
    assert Hpcc.program is not None
    shutil.copy(HERE / "hpccinf.txt", tmp_path)
    run, calls = recording(build, tmp_path, program=Hpcc.program)
    assert (run.done.returncode, run.done.stderr) == (0, "")
    (first,) = (one for one in profiling.ranks(calls) if one.rank == 0)
    seen: dict[str, int] = {}
    for (function, *_), (number, *_) in first.calls.items():
        seen[function] = seen.get(function, 0) + number
    assert seen == {one["function"]: one["calls"] for one in run.report["functions"]}
    assert sum(seen.values()) > 1000
