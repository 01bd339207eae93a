"""Mock-ups and the preload library: what ReproMPI 1.0 and PGMPITuneLib get wrong."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import busy
from tests.collectives_alt.programs import mpirun
from tests.collectives_alt.test_variants import NAMES
from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi

BLOCKS = "allreduce_as_reduce_scatter_block_plus_allgather"
ALLREDUCE = ("allreduce_as_reduce_plus_bcast", BLOCKS)


# --- 1c: fewer elements than ranks --------------------------------------------------------------


def small_cases(probe: Probe, ranks: int) -> Launch:
    """Every variant with data, of 1 to p - 1 elements of one byte and of four."""
    lines = []
    for variant in probe.known()["variants"]:
        if variant["function"].startswith(("MPI_Barrier", "MPI_Alltoallw", "MPI_Neighbor_")):
            continue
        for elements in range(1, ranks):
            for type_, op, width in (("MPI_BYTE", "MPI_BOR", 1), ("MPI_INT", "MPI_SUM", 4)):
                lines.append(
                    f"case id={len(lines)} function={variant['function']} "
                    f"variant={variant['name']} bytes={elements * width} type={type_} op={op} "
                    f"root={elements} reps=1"
                )
    return probe.run("set blocks=1 warmup=0\n" + "\n".join(lines), ranks)


@pytest.mark.parametrize("ranks", [4, 5])
def test_nothing_is_dropped_where_elements_are_fewer_than_ranks(probe: Probe, ranks: int) -> None:
    """1c: blocks of count / p elements move nothing where count < p; ours pads, and all arrives."""
    launch = small_cases(probe, ranks)
    assert launch.code == 0, launch.stderr
    names = {name for name in NAMES if not name.startswith("barrier_")}
    assert {case.variant for case in launch.cases.values()} == names
    assert [check for check in launch.checks.values() if check.outcome != "ok"] == []
    assert all(case.bytes_moved >= case.bytes > 0 for case in launch.cases.values())
    assert len(launch.samples) == len(launch.cases) == len(names) * (ranks - 1) * 2


def test_three_bytes_on_four_ranks_are_no_hundredfold_violation(probe: Probe) -> None:
    """1c [run]: Allreduce of 3 bytes on 4 ranks, 5 µs, against a mock-up of 0.05 µs that moves
    nothing; ours does the work and takes its time: medians of 500 interleaved samples."""
    line = "function=MPI_Allreduce bytes=3 reps=50"
    launch = probe.good(
        f"set blocks=10\ncase id=0 {line}\ncase id=1 variant={ALLREDUCE[0]} {line}\n"
        f"case id=2 variant={BLOCKS} {line}\n",
        4,
    )
    of: dict[int, list[int]] = {}
    for record in launch.samples:
        of.setdefault(record.case, []).extend(record.ns)
    default, *ours = (statistics.median(of[case]) for case in range(3))
    if any(default / median >= 10 for median in ours):
        busy.undecided(f"{default} ns against {ours}")


def test_a_mockup_that_moves_nothing_is_wrong_and_not_timed(probe: Probe) -> None:
    """1c [run]: the predecessor times a mock-up that drops all its elements; ours compares results
    on random data first."""
    line = f"function=MPI_Allreduce variant={BLOCKS} type=MPI_INT op=MPI_SUM reps=1"
    launch = probe.run(
        f"set blocks=1 warmup=0\ncase id=0 bytes=12 {line}\ncase id=1 bytes=400 {line}\n",
        4,
        {"LD_PRELOAD": str(probe.faulty)},
    )
    assert [launch.checks[case].outcome for case in (0, 1)] == ["wrong", "ok"]
    assert [record.case for record in launch.samples] == [1]


# --- 1d: legal programs under the preload library -----------------------------------------------


@dataclass(frozen=True)
class Ran:
    """A program under libplumbline.so: what it printed, and the report of rank 0."""

    code: int
    stdout: str
    stderr: str
    report: dict[str, Any]

    def calls(self, function: str) -> tuple[int, int]:
        """(replaced, fallen through)."""
        one = next(one for one in self.report["functions"] if one["function"] == function)
        return one["replaced"], one["fallen_through"]


def under(
    build: Path, folder: Path, program: Path, test: str, ranks: int, rule: str, sizes: str
) -> Ran:
    """Runs one test of legal.c with one rule in force: `FUNCTION VARIANT`."""
    function, variant = rule.split()
    profile, report = folder / "site.profile", folder / "report.json"
    profile.write_text(
        "plumbline-profile 1\nmemory bytes=1073741824\n"
        f"rule function={function} nprocs=1-inf bytes={sizes} variant={variant}\n"
    )
    env = {
        "LD_PRELOAD": str(build / "libplumbline.so"),
        "PLUMBLINE_PROFILE": str(profile),
        "PLUMBLINE_REPORT": str(report),
    }
    done = mpirun(ranks, program, test, env=env)
    return Ran(done.returncode, done.stdout, done.stderr, json.loads(report.read_text()))


def expected(test: str, program: Path) -> str:
    """What the program prints without us: the test itself is right."""
    done = mpirun(4, program, test)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ok ") and "not ok" not in done.stdout
    return done.stdout


@pytest.mark.parametrize(("sizes", "calls"), [("0-inf", (4, 0)), ("1-8", (0, 4))])
def test_scatter_without_send_arguments(
    build: Path, legal: Path, tmp_path: Path, sizes: str, calls: tuple[int, int]
) -> None:
    """1d [run]: a send type of MPI_DATATYPE_NULL on other ranks than the root aborts, even where
    the library's own algorithm is used; ours replaces the call, or passes it on, for any root."""
    rule = "MPI_Scatter scatter_as_bcast"
    ran = under(build, tmp_path, legal, "scatter", 4, rule, sizes)
    assert (ran.code, ran.stdout, ran.stderr) == (0, expected("scatter", legal), "")
    assert ran.calls("MPI_Scatter") == calls


def test_small_calls_after_one_without_memory(build: Path, legal: Path, tmp_path: Path) -> None:
    """1d [run]: after one call larger than the pool every later call falls back, for half of its
    memory is never released; ours replaces the small calls, right, and keeps no memory more."""
    rule = "MPI_Allgather allgather_as_alltoall"
    ran = under(build, tmp_path, legal, "memory", 2, rule, "0-inf")
    assert (ran.code, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.count("ok ") == 6 and "not ok" not in ran.stdout
    assert ran.calls("MPI_Allgather") == (41, 0)
