"""Correct before fast: a preload library breaks a call, the probe says how and does not time it."""

from __future__ import annotations

import pytest

from tests.probes.launch import Launch, Probe

pytestmark = pytest.mark.mpi

ALLREDUCE = "function=MPI_Allreduce type=MPI_INT op=MPI_SUM bytes=400 reps=1"


def run(probe: Probe, fault: str, lines: str) -> Launch:
    launch = probe.run(
        "set blocks=1 warmup=0\n" + lines,
        3,
        {"LD_PRELOAD": str(probe.faulty), "PLUMBLINE_TEST_FAULT": fault},
    )
    assert launch.code == 0, launch.stderr
    return launch


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        ("wrong", "wrong", "rank 2: element 99 of 100 is 0x"),
        ("past_end", "wrong", "rank 2: wrote past the end of the receive buffer"),
        ("before_start", "wrong", "rank 2: wrote before the receive buffer"),
        ("send_buffer", "wrong", "rank 2: changed the send buffer"),
        ("refused", "error", "rank 0: MPI_ERR_OP"),
    ],
)
def test_broken_allreduce(probe: Probe, fault: str, outcome: str, words: str) -> None:
    launch = run(probe, fault, f"case id=0 {ALLREDUCE}\ncase id=1 {ALLREDUCE} variant=library\n")
    assert launch.checks[0].outcome == outcome
    assert words in launch.checks[0].detail
    # `library` is past libplumbline alone: what somebody preloads is there.
    assert launch.checks[1].outcome == outcome
    assert launch.samples == []


def test_a_mockup_feels_what_it_is_made_of(probe: Probe) -> None:
    launch = run(
        probe,
        "wrong",
        "case id=0 function=MPI_Reduce_scatter variant=reduce_scatter_as_allreduce type=MPI_INT "
        "op=MPI_SUM bytes=400 reps=1",
    )
    assert launch.checks[0].outcome == "wrong"


def test_buffers_that_are_not_significant(probe: Probe) -> None:
    launch = run(
        probe,
        "not_significant",
        "case id=0 function=MPI_Gather bytes=300 root=0 reps=1\n"
        "case id=1 function=MPI_Gather bytes=300 root=2 reps=1\n",
    )
    assert launch.checks[0].outcome == "wrong"
    assert "not significant" in launch.checks[0].detail
    assert launch.checks[1].outcome == "ok"


def test_what_the_standard_leaves_undefined(probe: Probe) -> None:
    launch = run(probe, "undefined", "case id=0 function=MPI_Exscan bytes=300 reps=1\n")
    assert launch.checks[0].outcome == "ok"
