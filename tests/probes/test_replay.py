"""variant=replay: messages of an application that a plan has, played as they were."""

from __future__ import annotations

import pytest

from tests.probes.launch import Probe

pytestmark = pytest.mark.mpi

# A ring in which all send at once, then a root that begins all its messages and waits.
RING = "\n".join(
    f"messages id=ring rank={rank} steps=irecv:{(rank + 2) % 3}:500:0,ssend:{(rank + 1) % 3}:500:0,"
    "wait:0"
    for rank in range(3)
)
STAR = (
    "messages id=star rank=1 steps=isend:0:70000:0,issend:2:70000:0,isend:2:9:1,"
    "wait:2,wait:0,wait:1\n"
    "messages id=star rank=0 steps=recv:1:70000:0\n"
    "messages id=star rank=2 steps=irecv:1:9:1,recv:1:70000:0,wait:0"
)
CASE = "case id={} function=MPI_Bcast bytes=70000 root=1 variant=replay:messages={} reps=5 {}"


def test_messages_come_as_they_were_sent(probe: Probe) -> None:
    lines = [
        "set blocks=2",
        RING,
        STAR,
        CASE.format(0, "ring", ""),
        CASE.format(1, "star", ""),
        CASE.format(2, "star", "ranks=3 use=stream"),
        "case id=3 function=MPI_Bcast bytes=70000 root=1 ranks=3 reps=5",
        "case id=4 function=MPI_Allreduce bytes=64 type=MPI_DOUBLE op=MPI_SUM reps=5",
    ]
    launch = probe.good("\n".join(lines), 4)
    assert [launch.checks[number].outcome for number in range(5)] == ["ok"] * 5
    assert launch.cases[1].variant == "replay:messages=star"
    times = {
        number: [ns for s in launch.samples if s.case == number for ns in s.ns]
        for number in range(5)
    }
    assert [len(times[number]) for number in range(5)] == [10, 10, 2, 10, 10]
    assert min(min(ns) for ns in times.values()) > 0


def test_a_pattern_has_no_more_ranks_than_there_are(probe: Probe) -> None:
    lines = "\n".join([STAR, CASE.format(0, "star", "ranks=2")])
    probe.refuses(lines, "its messages are of 3 ranks, and the case has 2")
