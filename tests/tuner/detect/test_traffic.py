"""Messages as columns, and which of them cross."""

from __future__ import annotations

import numpy as np
import pytest

from plumbline.detect.kinds import Flag
from plumbline.detect.traffic import Traffic, traffic
from tests.tuner.detect.program import RankProgram


def random_messages(seed: int) -> Traffic:
    """Of three ranks and two functions, that take their time."""
    random = np.random.default_rng(seed)
    program = RankProgram(3)
    open_ones: list[tuple[int, int, str]] = []
    for _ in range(120):
        site = f"a.c:{random.integers(1, 3)}:{'fg'[int(random.integers(2))]}"
        source, target = random.integers(0, 3, 2).tolist()
        program.compute(source, int(random.integers(0, 3000)))
        program.send(source, target, random.random(2), site=site)
        open_ones.append((source, target, site))
        if random.random() < 0.6:
            source, target, site = open_ones.pop(0)
            program.receive(target, source, site=site)
    return traffic(program.recording())


def crosses(messages: Traffic, one: int, other: int) -> bool:
    """Whether each was begun before the other one was there."""
    ways = (messages.source, messages.target)
    if [way[one] for way in ways] != [way[other] for way in reversed(ways)]:
        return False
    if messages.source[one] == messages.target[one]:
        return False
    columns = messages.recording.columns
    begun = columns["post_ns"][messages.send_event[[one, other]]]
    there = columns["end_ns"][messages.receive_event[[one, other]]]
    alike = messages.functions[one] == messages.functions[other]
    return bool(alike and begun[0] < there[1] and begun[1] < there[0])


@pytest.mark.parametrize("seed", range(4))
def test_messages_cross_that_are_under_way_together(seed: int) -> None:
    messages = random_messages(seed)
    every = range(len(messages))
    wanted = [any(crosses(messages, one, other) for other in every) for one in every]
    assert messages.crossed.tolist() == wanted
    assert 0 < sum(wanted) < len(wanted)


def test_equal_contents_have_one_number_and_unknown_ones_none_in_common() -> None:
    program = RankProgram(2)
    for content, flags in ((b"left", Flag(0)), (b"left", Flag(0)), (b"right", Flag(0))):
        program.message(0, 1, content, flags=flags)
    for _ in range(2):
        program.message(1, 0, b"left", flags=Flag.UNKNOWN_CONTENT)
    messages = traffic(program.recording())
    first, again, other, *unknown = messages.content.tolist()
    assert first == again != other
    assert len({first, other, *unknown}) == 4
    assert messages.sent_as.tolist() == [0, 1, 2, 3, 4]
    assert (messages.sent < messages.received).all()
