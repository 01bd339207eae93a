"""Messages as they can be played again, and what they take when nobody is late."""

from __future__ import annotations

import numpy as np
import pytest

from plumbline.detect.core import rows
from plumbline.detect.detecting import detect
from plumbline.detect.findings import work_seconds
from plumbline.detect.kinds import Flag
from plumbline.detect.patterns import MOST_SIZES, HandPattern, patterns
from plumbline.detect.recording import Recording
from tests.bench.detection import broadcasts, rooted, spmd
from tests.tuner.detect.program import RankProgram


def of(recording: Recording) -> tuple[HandPattern, ...]:
    detected = detect(recording)
    return patterns(detected.traffic, detected.instances)


def linear(me: spmd.Rank) -> spmd.Waits:
    for _ in range(3):
        yield from broadcasts.linear(me, me.data(100), 1)


def test_each_rank_does_what_it_did() -> None:
    (pattern,) = of(spmd.run(4, linear))
    assert pattern.group == (0, 1, 2, 3)
    assert (pattern.bytes, pattern.instances, pattern.root) == (800, 3, 1)
    assert pattern.type == "MPI_DOUBLE"
    assert pattern.steps[1] == "send:0:800:0,send:2:800:0,send:3:800:0"
    assert pattern.steps[3] == "recv:1:800:0"


def sizes(me: spmd.Rank) -> spmd.Waits:
    for size in range(10, 80):
        yield from broadcasts.linear(me, me.data(size), 0)


def test_some_sizes_speak_for_all() -> None:
    found = of(spmd.run(4, sizes))
    assert len(found) == MOST_SIZES
    assert sum(pattern.instances for pattern in found) == 70
    assert [pattern.bytes for pattern in found] == sorted({pattern.bytes for pattern in found})


def test_what_is_begun_is_waited_for() -> None:
    """Whatever a program does: requests are waited for once, after they are begun."""

    def several(me: spmd.Rank) -> spmd.Waits:
        yield from broadcasts.scatter_allgather(me, me.data(60), 0)
        yield from rooted.gather_wildcard(me, 10, 2)

    for pattern in of(spmd.run(5, several)):
        for steps in pattern.steps:
            words = [step.split(":") for step in steps.split(",") if step]
            begun = [word for word in words if word[0].startswith("i")]
            waits = [int(word[1]) for word in words if word[0] == "wait"]
            assert sorted(waits) == list(range(len(begun)))


def test_halves_of_an_exchange_are_both_begun_before_one_is_waited_for() -> None:
    """Else long messages of a ring wait for each other."""
    program = RankProgram(3)
    for step in range(2):
        for rank in range(3):
            content = np.arange(100.0) + (rank - step) % 3
            more = {"flags": Flag.EXCHANGE, "function": "MPI_Sendrecv", "site": "ring.c:1"}
            program.send(rank, (rank + 1) % 3, content, **more)
        for rank in range(3):
            program.receive(rank, (rank + 2) % 3, **more)
    (pattern,) = of(program.recording())
    for steps in pattern.steps:
        words = [step.partition(":")[0] for step in steps.split(",")]
        assert words == ["isend", "irecv", "wait", "wait"] * 2


def late(late_ns: int) -> RankProgram:
    """A root that comes late; then it sends to three ranks, one after the other."""
    program = RankProgram(4)
    for number in range(3):
        program.compute(0, late_ns)
        content = np.full(100, float(number))
        for rank in (1, 2, 3):
            program.message(0, rank, content)
    return program


def test_waiting_for_a_late_rank_is_no_work() -> None:
    found = []
    for late_ns in (1_000, 10_000_000):
        detected = detect(late(late_ns).recording())
        assert len(detected.instances) == 3
        messages = rows(instance.messages for instance in detected.instances)
        found.append(work_seconds(detected.traffic, detected.instances, messages))
    assert 0 < found[0] < 1e-3
    assert found[1] == pytest.approx(found[0], rel=0.5)
