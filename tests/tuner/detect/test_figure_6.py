"""The four scenarios of figure 6 of Calotoiu, Siebert and Wolf (Euro-Par 2012, section 5.1), and
its ring. Its processes P1, P2, … are ranks 0, 1, … here."""

from __future__ import annotations

import itertools

import numpy as np

from plumbline.detect.analysis import analysis
from plumbline.detect.findings import HandMade
from tests.tuner.detect.program import RankProgram

PAYLOAD = np.arange(30.0)


def chain(program: RankProgram, content: np.ndarray = PAYLOAD, first: int = 0) -> None:
    """A message that visits one rank after the other, from the rank that is `first`."""
    buffers = [0x4000 for _ in range(4)]
    order = [(first + at) % 4 for at in range(4)]
    for left, right in itertools.pairwise(order):
        program.message(
            left,
            right,
            content,
            source_address=buffers[left],
            target_address=buffers[right],
            site=["chain.c:20", "main.c:5"],
            tag=1,
        )


def noise(program: RankProgram, seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(6):
        source, target = random.choice(4, 2, replace=False)
        place = {"source_address": 0x9000, "target_address": 0xA000}
        content = random.normal(size=9)
        program.message(int(source), int(target), content, tag=5, site="main.c:9", **place)


def broadcasts(program: RankProgram) -> list[HandMade]:
    found = [each for each in analysis(program.recording()) if each.category == "collective"]
    assert {finding.function for finding in found} <= {"MPI_Bcast"}
    return found


def test_a_linear_broadcast_among_noise() -> None:
    program = RankProgram(4)
    noise(program, 1)
    chain(program)
    noise(program, 2)
    (finding,) = broadcasts(program)
    assert finding.roots == {0: 1}
    assert finding.groups == ("0:1:4",)
    assert finding.messages == 3


def test_a_redundant_message_leaves_two_roots() -> None:
    """The first two ranks tell each other: either may have had the content first."""
    program = RankProgram(4)
    place = {"address": 0x4000, "site": "chain.c:20"}
    program.send(0, 1, PAYLOAD, **place)
    program.send(1, 0, PAYLOAD, **place)
    program.receive(1, 0, **place)
    program.receive(0, 1, **place)
    for left in (1, 2):
        program.send(left, left + 1, PAYLOAD, **place)
        program.receive(left + 1, left, **place)
    (finding,) = broadcasts(program)
    assert finding.ambiguous_roots == (0, 1)
    assert finding.messages == 4
    assert any("several ranks may have been the root" in remark for remark in finding.remarks)


def test_a_message_back_leaves_two_roots() -> None:
    """The second rank sends it back to the first one, when it has passed it on."""
    program = RankProgram(4)
    chain(program)
    place = {"source_address": 0x4000, "target_address": 0x4000}
    program.message(1, 0, PAYLOAD, site="chain.c:20", **place)
    (finding,) = broadcasts(program)
    assert finding.ambiguous_roots == (0, 1)


def test_a_repeated_broadcast_is_one_recommendation() -> None:
    program = RankProgram(4)
    chain(program)
    chain(program)
    (finding,) = broadcasts(program)
    assert (finding.instances, finding.messages) == (2, 6)
    assert (
        "1 of 2 broadcasts carry the same content as one before: once is enough"
    ) in finding.remarks


def test_nested_broadcasts_are_both_reported() -> None:
    """A token goes from the root to each other rank; whoever has it begins a broadcast."""
    program = RankProgram(4)
    random = np.random.default_rng(3)
    token = np.array([17, 4], np.int32)
    for owner in range(4):
        if owner:
            program.message(0, owner, token, source_address=0x100, site="token.c:3", tag=2)
        chain(program, random.normal(size=40), owner)
    outer, inner = sorted(broadcasts(program), key=lambda finding: finding.bytes)
    assert (outer.bytes, outer.roots, outer.instances) == (8, {0: 1}, 1)
    assert (inner.bytes, inner.roots, inner.instances) == (320, {0: 1, 1: 1, 2: 1, 3: 1}, 4)


def test_a_ring_is_no_broadcast() -> None:
    """The paper's prototype reports one for each rank; a root never needs its own content back."""
    program = RankProgram(4)
    for _ in range(2):
        chain(program)
        place = {"source_address": 0x4000, "target_address": 0x4000}
        program.message(3, 0, PAYLOAD, site="chain.c:20", tag=1, **place)
    assert broadcasts(program) == []
