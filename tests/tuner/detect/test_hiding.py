"""How much of what is saved in calls shows in the run's time."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from plumbline.detect import analysis
from plumbline.detect.analysis import Analysed, analysed
from plumbline.detect.findings import Call, ReplaySaving, Saved, SizeSaving
from tests.tuner.detect.program import LATENCY_NS, RankProgram

ROUNDS = 5


def beside(slow_ns: int) -> Analysed:
    """Broadcasts among three ranks; their root waits each time for a fourth one, which computes."""
    program = RankProgram(4)
    three = program.communicator([0, 1, 2])
    for turn in range(ROUNDS):
        content = np.arange(100.0) + turn
        for target in (1, 2):
            program.message(0, target, content, comm=three, site="main.c:1")
        program.compute(3, slow_ns)
        program.message(3, 0, content + 1000, tag=1, site="main.c:2")
    return analysed(program.recording())


def of(looked: Analysed) -> float:
    (at,) = (at for at, each in enumerate(looked.found) if each.function == "MPI_Bcast")
    finding, instances = looked.found[at], looked.instances[at]
    assert (finding.instances, finding.group_size) == (ROUNDS, 3)
    return analysis.shown(looked.detected.traffic, instances, finding.work_seconds)


def test_what_nobody_waits_for_does_not_show() -> None:
    assert of(beside(1_000_000)) == 0.0


def test_what_everybody_waits_for_shows() -> None:
    """The root's two sends of a broadcast take longer than what the fourth rank does meanwhile."""
    assert of(beside(0)) > 0.3
    assert of(beside(0)) > of(beside(LATENCY_NS)) >= 0.0


def test_a_collective_behind_it_waits_for_the_last_one() -> None:
    """All of what the broadcast takes shows where it makes the last rank late; else nothing."""
    found = []
    for late in (0, 10 * LATENCY_NS):
        program = RankProgram(4)
        three = program.communicator([0, 1, 2])
        for _ in range(ROUNDS):
            for target in (1, 2):
                program.message(0, target, np.arange(100.0), comm=three, site="main.c:1")
            program.compute(3, late)
            program.collective("MPI_Barrier", {}, {})
        found.append(of(analysed(program.recording())))
    assert found[0] > 0.9 and found[1] == 0.0


def test_an_interval_begins_with_what_shows() -> None:
    looked = beside(LATENCY_NS)
    saved = Saved(1e-6, 0.5e-6, 2e-6)
    call = Call(1e-6, 1e-6, 1e-6)
    sizes = (SizeSaving(800, ROUNDS, call, call),)
    saving = ReplaySaving("replay", "", 5e-6, saved, None, 1.0, sizes)
    slower = msgspec.structs.replace(saving, default=Saved(-2e-6, -3e-6, -1e-6))
    at = next(at for at, each in enumerate(looked.found) if each.function == "MPI_Bcast")
    for given in (saving, slower):
        found = list(looked.found)
        found[at] = msgspec.structs.replace(found[at], saving=given)
        told = analysis.lowered(looked, found)
        assert [each for k, each in enumerate(told) if k != at] == [
            each for k, each in enumerate(found) if k != at
        ]
        lower = told[at].saving
        assert lower is not None
        if given is slower:
            assert lower == given
            continue
        share = of(looked)
        assert lower.shown == share
        assert lower.default.low_seconds == pytest.approx(share * 0.5e-6)
        assert (lower.default.seconds, lower.default.high_seconds) == (1e-6, 2e-6)
