"""libplumbline.so under programs that know nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collectives_alt.programs import HERE, Build, mpirun, of_parts
from tests.collectives_alt.started import Started

pytestmark = pytest.mark.mpi

RULES = """\
rule function=MPI_Allreduce nprocs=4-4 bytes=400-65536 variant=allreduce_as_reduce_plus_bcast
rule function=MPI_Reduce nprocs=1-inf bytes=0-inf variant=reduce_ring
rule function=MPI_Gather nprocs=1-8 bytes=0-inf variant=gather_binomial
rule function=MPI_Bcast nprocs=5-8 bytes=0-inf variant=bcast_as_scatter_plus_allgather
"""


@pytest.fixture(scope="module")
def plain(build: Build) -> str:
    done = mpirun(4, build.program("application"))
    assert done.returncode == 0
    return done.stdout


def test_rules_are_put_in_order_once(build: Build, tmp_path: Path) -> None:
    """Not for each communicator: then 20 000 of them take a third of a second there."""
    starts = [4096, 0, 64, 1024]
    lines = [
        f"rule function=MPI_Bcast nprocs=1-inf bytes={start}-{start + 9} variant=bcast_binomial"
        for start in starts
    ]
    run = Started(build, tmp_path, "\n".join(lines) + "\n", nprocs=2)
    assert [rule["bytes_from"] for rule in run.report["rules"]] == sorted(starts)


@pytest.mark.parametrize("start", ["init", "thread", "unseen"])
def test_replaces_what_the_profile_says(
    build: Build, tmp_path: Path, plain: str, start: str
) -> None:
    run = Started(build, tmp_path, RULES, start)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == (0, plain, "")
    assert run.report["in_force"] is True
    assert run.report["profile"] == str(run.path)
    assert [(rule["line"], rule["replaced"]) for rule in run.report["rules"]] == [
        (5, 0),
        (4, 1),
        (3, 1),
        (2, 2),
    ]
    assert run.report["rules"][3] == {
        "line": 2,
        "function": "MPI_Allreduce",
        **{"nprocs_from": 4, "nprocs_to": 4, "nodes_from": 1, "nodes_to": None},
        **{"ppn_from": 1, "ppn_to": None, "bytes_from": 400, "bytes_to": 65536},
        **{"op": "any", "type": "any", "counts": "any"},
        "variant": "allreduce_as_reduce_plus_bcast",
        **{"replaced": 2, "nearest": 0, "inner": 0},
    }
    # 400 and 4000 bytes; 4 and 40, the inter-communicator and the half of two ranks are not.
    assert run.function("MPI_Allreduce") == {
        "function": "MPI_Allreduce",
        "calls": 6,
        "replaced": 2,
        "fallen_through": 4,
        "crowded": 0,
        "bytes": 4400,
    }
    # The non-commutative operation falls through; the sum of the hashes does not.
    assert run.function("MPI_Reduce")["replaced"] == 1
    assert run.function("MPI_Reduce")["fallen_through"] == 1
    # One process count too few.
    assert run.function("MPI_Bcast")["replaced"] == 0


def test_an_inter_communicator_falls_through(build: Build, tmp_path: Path, plain: str) -> None:
    rule = "rule function=MPI_Allreduce nprocs=1-inf bytes=0-inf variant="
    run = Started(build, tmp_path, rule + "allreduce_as_reduce_scatter_block_plus_allgather")
    assert (run.done.stdout, run.done.stderr) == (plain, "")
    assert run.function("MPI_Allreduce")["replaced"] == 5
    assert run.function("MPI_Allreduce")["fallen_through"] == 1


def test_communicators_whose_handles_are_used_again(build: Build, tmp_path: Path) -> None:
    """Also: calls of two threads at a time, all of them counted."""
    canary = "rule function=MPI_Allreduce nprocs=2-2 bytes=0-inf variant=canary"
    run = Started(build, tmp_path, canary, program="communicators")
    assert (run.done.returncode, run.done.stderr) == (0, "")
    assert run.done.stdout.startswith("ok level=3 bad=0 ")
    assert not run.done.stdout.endswith("reused=0\n")
    counted = run.function("MPI_Allreduce")
    # 2 threads x 60 rounds x 3 calls, 15 on another communicator each, the sum at the end
    assert (counted["calls"], counted["replaced"]) == (2 * (60 * 3 + 15) + 1, 2 * 30 * 3)


def test_calls_of_an_error_handler(build: Build, tmp_path: Path) -> None:
    """They leave the arguments of the call that failed as they are."""
    canary = "rule function=MPI_Bcast nprocs=2-2 bytes=8-8 variant=canary"
    run = Started(build, tmp_path, canary, program="calls_back", nprocs=2)
    assert (run.done.returncode, run.done.stdout) == (0, "ok inside=50 bad=0\n"), run.done.stderr
    counted = run.function("MPI_Bcast")
    assert (counted["replaced"], counted["bytes"]) == (100, 800)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rule nprocs=4\n", ":2: 'nprocs=4': not a range"),
        (RULES + RULES, ":6: overlaps with the rule on line 2"),
        ('library version="Open MPI v1.2.3"\n' + RULES, 'made for "Open MPI v1.2.3"'),
    ],
)
def test_a_useless_profile_is_reported_once(
    build: Build, tmp_path: Path, plain: str, text: str, reason: str
) -> None:
    run = Started(build, tmp_path, text)
    assert (run.done.returncode, run.done.stdout) == (0, plain)
    assert run.done.stderr.count("plumbline:") == 1
    assert f"{run.path}{reason}" in run.done.stderr.replace(": made", "made")
    assert (run.report["in_force"], run.report["rules"]) == (False, [])
    assert {one["replaced"] for one in run.report["functions"]} == {0}


@pytest.mark.parametrize("start", ["init", "unseen"])
def test_a_missing_profile(build: Build, tmp_path: Path, plain: str, start: str) -> None:
    run = Started(build, tmp_path, tmp_path / "none", start)
    assert run.done.stdout == plain
    assert run.done.stderr.count("plumbline:") == 1
    assert f"{tmp_path}/none: No such file" in run.done.stderr
    assert "No such file" in run.report["reason"]


@pytest.mark.parametrize("start", ["init", "unseen"])
@pytest.mark.parametrize(
    ("make", "reason"), [(os.mkfifo, "not a plain file"), (os.mkdir, "a folder, not a file")]
)
def test_a_profile_that_is_no_file(
    build: Build, tmp_path: Path, plain: str, start: str, make: Callable[[Path], None], reason: str
) -> None:
    """Nobody writes into the pipe: whoever opens it waits."""
    make(tmp_path / "here")
    run = Started(build, tmp_path, tmp_path / "here", start, timeout=30)
    assert run.done.stdout == plain
    assert run.done.stderr.count("plumbline:") == 1
    assert run.report["reason"] == f"{tmp_path}/here: {reason}"


def test_no_profile_is_silent(build: Build, tmp_path: Path, plain: str) -> None:
    run = Started(build, tmp_path, None)
    assert (run.done.stdout, run.done.stderr) == (plain, "")
    assert run.report["profile"] is None
    assert run.report["reason"] == "PLUMBLINE_PROFILE is not set"


def test_rank_0_reads_for_all(build: Build, tmp_path: Path, plain: str) -> None:
    """Ranks that see another file must not decide otherwise: they would wait for each other."""
    profile, report = tmp_path / "p", tmp_path / "report.json"
    profile.write_text(f"plumbline-profile 1\n{RULES}")

    ours = {"LD_PRELOAD": build.preload, "PLUMBLINE_REPORT": report}
    profiles = (profile, tmp_path / "none")
    parts = [(2, ours | {"PLUMBLINE_PROFILE": path}) for path in profiles]
    done = of_parts(build.program("application"), *parts)
    assert (done.stdout, done.stderr) == (plain, "")
    assert json.loads(report.read_text())["in_force"] is True


@pytest.mark.parametrize("has_it", [0, 1])
def test_rank_0_decides_whether_there_is_a_profile(
    build: Build, tmp_path: Path, plain: str, has_it: int
) -> None:
    """mpirun without -x gives a variable to the ranks of its own node alone."""
    profile, report = tmp_path / "p", tmp_path / "report.json"
    profile.write_text(f"plumbline-profile 1\n{RULES}")

    envs = [{"LD_PRELOAD": build.preload, "PLUMBLINE_REPORT": report} for _ in range(3)]
    envs[has_it] |= {"PLUMBLINE_PROFILE": profile}
    done = of_parts(build.program("application"), *zip((1, 1, 2), envs, strict=True))
    assert (done.stdout, done.stderr) == (plain, "")
    written = json.loads(report.read_text())
    assert written["in_force"] is (has_it == 0)
    assert written["profile"] == (str(profile) if has_it == 0 else None)
    assert sum(one["replaced"] for one in written["rules"]) == (4 if has_it == 0 else 0)


def test_a_spawned_process_writes_no_report(build: Build, tmp_path: Path) -> None:
    run = Started(build, tmp_path, None, program="spawns", nprocs=1)
    assert (run.done.returncode, run.done.stdout, run.done.stderr) == (0, "ok\n", "")
    assert run.function("MPI_Allreduce")["calls"] == 3  # the child has one


def test_nothing_is_kept_beyond_the_end(build: Build, tmp_path: Path) -> None:
    """Private communicators of the communicators that no application frees."""
    library = tmp_path / "balance.so"
    command = ["mpicc", "-shared", "-fPIC", "-Wall", "-Werror", "balance.c", "-o", str(library)]
    subprocess.run(command, check=True, cwd=HERE, timeout=60)
    rules = "rule function=MPI_Allgather nprocs=1-inf bytes=0-inf variant=allgather_bruck"
    run = Started(build, tmp_path, rules, program="keeps", nprocs=2, preload=[library])
    assert (run.done.returncode, run.done.stderr) == (0, "")
    # Not on MPI_COMM_SELF: a rank alone is left to the library.
    assert run.function("MPI_Allgather")["replaced"] == 2
    # MPI_COMM_WORLD and a duplicate, which the program frees itself; where the library is asked
    # what it accepts.
    assert sorted(run.done.stdout.splitlines()) == 2 * ["made 3 freed 3"]


def test_a_report_that_cannot_be_written(build: Build, tmp_path: Path, plain: str) -> None:
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_REPORT": str(tmp_path / "no" / "r")}
    done = mpirun(4, build.program("application"), env=env)
    assert (done.returncode, done.stdout) == (0, plain)
    assert done.stderr.count("plumbline: cannot write the report") == 1


def test_a_report_is_not_written_through_a_link(build: Build, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "report.json.part").symlink_to(precious)
    assert Started(build, tmp_path, None).report["in_force"] is False
    assert precious.read_text() == "precious"


def test_a_report_never_takes_the_place_of_a_device(
    build: Build, tmp_path: Path, plain: str
) -> None:
    """A rename onto /dev/null would, for root; a pipe stands in for it here."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_REPORT": str(pipe)}
    done = mpirun(4, build.program("application"), env=env)
    assert (done.returncode, done.stdout) == (0, plain)
    assert done.stderr.count(f"cannot write the report {pipe}: not a plain file") == 1
    assert [path.is_fifo() for path in tmp_path.iterdir()] == [True]


def test_errors_reach_the_handler_once(build: Build, tmp_path: Path) -> None:
    profile = tmp_path / "p"
    profile.write_text(
        "plumbline-profile 1\nmemory bytes=2000000000\n"
        "rule function=MPI_Allgather nprocs=1-inf bytes=0-inf variant=allgather_as_alltoall\n"
    )
    env = {"LD_PRELOAD": str(build.preload), "PLUMBLINE_PROFILE": str(profile)}
    done = mpirun(2, build.program("handler"), env=env)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(
        2 * ["ok illegal count", "ok illegal type", "ok no memory"]
    )


def test_only_mpi_entry_points_are_exported(build: Build) -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", build.preload], check=True, capture_output=True, text=True
    ).stdout.split()[2::3]
    assert {"MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Allreduce"} <= set(symbols)
    assert {"MPI_Intercomm_merge", "mpi_intercomm_merge_"} <= set(symbols)
    assert {"mpi_allreduce_", "mpi_allreduce_f08_"} <= set(symbols)
    others = [name for name in symbols if not name.startswith(("MPI_", "mpi_"))]
    # By them the probe's mock-ups compose as replacements do, and its ranks that stay alive load
    # another profile.
    assert sorted(others) == ["plumbline_compose_2", "plumbline_load_again"]
