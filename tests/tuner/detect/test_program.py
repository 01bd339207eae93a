"""Recordings made in memory, matching and the algebra of hashes."""

from __future__ import annotations

import numpy as np
import pytest

from plumbline.detect import kinds, read
from plumbline.detect.kinds import Element, EventKind, Flag
from plumbline.detect.recording import Recording
from tests.tuner.detect import hashes
from tests.tuner.detect.program import RankProgram


def linear_bcast() -> Recording:
    program = RankProgram(4)
    for rank in (1, 2, 3):
        program.message(0, rank, np.arange(100.0), site="bcast.c:12", tag=rank)
    return program.recording()


def test_a_linear_broadcast() -> None:
    recording = linear_bcast()
    assert len(recording.events) == 6
    assert recording.nprocs == 4
    assert recording.messages["verified"].all()
    assert recording.events["rank"].tolist() == [0, 0, 0, 1, 2, 3]
    assert len(set(recording.events["content"].tolist())) == 1
    assert str(recording.call_sites[0]) == "bcast.c:12 (bcast)"
    assert recording.partner.tolist() == [3, 4, 5, 0, 1, 2]
    ends, posts = recording.events["end_ns"], recording.events["post_ns"]
    assert (ends[recording.messages["receive"]] > posts[recording.messages["send"]]).all()
    assert recording.of_rank(2) == slice(4, 5)


def test_messages_of_one_channel_keep_their_order() -> None:
    program = RankProgram(2)
    for number in range(5):
        program.send(0, 1, bytes([number]))
    assert [program.receive(1, 0)[0] for _ in range(5)] == [0, 1, 2, 3, 4]
    recording = program.recording()
    assert recording.messages["verified"].all()
    assert len(recording.unmatched()) == 0


def test_threads_that_cross_are_told_apart_by_content() -> None:
    program = RankProgram(2)
    for number in range(3):
        program.send(0, 1, bytes([number]))
    for _ in range(3):
        program.receive(1, 0)
    events = program.recording().events.copy()
    events["content"][[3, 5]] = events["content"][[5, 3]]
    messages = read.match(events)
    assert messages["verified"].all()
    assert messages["receive"].tolist() == [5, 4, 3]


def test_a_receive_that_did_not_end_keeps_its_place() -> None:
    program = RankProgram(2)
    for number in range(2):
        program.send(0, 1, bytes([number]))
    program.receive(1, 0, flags=Flag.INCOMPLETE)
    program.receive(1, 0)
    recording = program.recording()
    assert recording.messages["send"].tolist() == [1]
    assert recording.messages["verified"].all()
    assert recording.unmatched().tolist() == [0, 2]


def test_what_was_cancelled_was_not_sent() -> None:
    program = RankProgram(2)
    program.send(0, 1, b"lost", flags=Flag.CANCELLED)
    program.send(0, 1, b"kept")
    program.receive(1, 0)
    program.receive(1, 0)
    events = program.recording().events
    messages = read.match(events[:3])
    assert messages["send"].tolist() == [1]


def test_no_events() -> None:
    recording = RankProgram(2).recording()
    assert len(recording.messages) == len(recording.unmatched()) == 0


def test_a_collective_has_an_input_and_an_output_on_each_rank() -> None:
    program = RankProgram(3)
    data = np.arange(4, dtype=np.int32)
    row = program.communicator([0, 2])
    program.collective("MPI_Bcast", {0: data}, dict.fromkeys((0, 2), data), comm=row, root=0)
    events = program.recording().events
    assert events["kind"].tolist() == [EventKind.INPUT, EventKind.OUTPUT] * 2
    assert events["bytes"].tolist() == [16, 16, 0, 16]
    assert events["sequence"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("element", [Element.INT32, Element.INT64, Element.FLOAT64, Element.BYTE])
def test_polynomials_are_joined_and_split(element: Element) -> None:
    data = np.random.default_rng(3).bytes(96)
    head, tail = data[:40], data[40:]
    shift = pow(hashes.BASE, 40 // kinds.width(element), kinds.PRIME)
    whole, left, right = (hashes.poly(each, element) for each in (data, head, tail))
    assert whole == (left + shift * right) % kinds.PRIME


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.int8])
def test_polynomials_of_integers_are_added(dtype: type[np.integer]) -> None:
    random = np.random.default_rng(4)
    low = 0 if np.dtype(dtype).kind == "u" else -30
    parts = [random.integers(low, 40, 50).astype(dtype) for _ in range(3)]
    kind = {np.int32: 5, np.int64: 7, np.uint32: 6, np.int8: 1}[dtype]
    polys = [hashes.poly(part.tobytes(), kind) for part in parts]
    assert sum(polys) % kinds.PRIME == hashes.poly(sum(parts).astype(dtype).tobytes(), kind)


def test_sketches_of_floats_are_added() -> None:
    random = np.random.default_rng(6)
    parts = [random.normal(size=2000) for _ in range(3)]
    sketches = [hashes.sketch(part.tobytes(), Element.FLOAT64) for part in parts]
    whole = hashes.sketch(sum(parts).tobytes(), Element.FLOAT64)
    bound = 2000 * np.finfo(float).eps * sum(part[2] for part in sketches)
    assert np.abs(np.sum(sketches, axis=0)[:2] - whole[:2]).max() <= bound
    assert np.abs(sketches[0][:2] + sketches[1][:2] - whole[:2]).max() > bound


def test_extremes_of_a_maximum() -> None:
    random = np.random.default_rng(7)
    parts = [random.normal(size=101) for _ in range(2)]
    left, right = (hashes.extremes(part.tobytes(), Element.FLOAT64) for part in parts)
    whole = hashes.extremes(np.maximum(*parts).tobytes(), Element.FLOAT64)
    assert (np.maximum(left, right)[:4] == whole[:4]).all()
