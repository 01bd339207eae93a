"""Collectives made by hand, found in programs of which is known what is in them. The whole suite is
`python -m tests.bench.detection`; here is a part of it."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from plumbline.detect.detecting import detect
from plumbline.detect.kinds import Flag
from tests.bench.detection import __main__ as bench
from tests.bench.detection import broadcasts, exchanges, negatives, spmd, suite
from tests.tuner.detect.program import RankProgram

PROMISED = 0.98


@pytest.mark.parametrize(("nprocs", "first"), [(4, 0), (5, 1)])
def test_recall_and_precision(nprocs: int, first: int) -> None:
    """Every second case of the suite: the even ones on 4 ranks, the odd ones on 5."""
    total = bench.Row("all")
    told = []
    for case in list(suite.cases([nprocs]))[first::2]:
        if case.nprocs != nprocs:
            continue  # grids are tested once, below
        scored = suite.score(case)
        total.right += scored.right
        total.missed += scored.missed
        total.wrong += scored.wrong
        if scored.missed or scored.wrong:
            told.append(scored)
    recall, precision = bench.rates(total)
    assert recall >= PROMISED, told
    assert precision >= PROMISED, told


def test_rows_and_columns() -> None:
    for case in suite.cases([]):
        if case.nprocs == 12:
            scored = suite.score(case)
            assert (scored.missed, scored.wrong) == (0, 0), scored


@pytest.mark.parametrize("nprocs", [3, 6])
@pytest.mark.parametrize("program", negatives.ALL)
def test_nothing_is_made_up(program: spmd.Main, nprocs: int) -> None:
    detected = detect(spmd.run(nprocs, program, seed=7))
    assert [each for each in detected.instances if not each.missing] == []


@pytest.mark.parametrize("nprocs", [4, 5, 8])
@pytest.mark.parametrize("count", [32, 512, 8192])
def test_allgathers_of_copied_blocks(nprocs: int, count: int) -> None:
    """Addresses tell nothing of them: contents are those that came, one behind the other."""
    for pattern in exchanges.COPIED if nprocs in suite.POWERS else exchanges.COPIED[:1]:
        detected = detect(spmd.run(nprocs, lambda me, own=pattern: own(me, count)))
        (instance,) = detected.instances
        assert (instance.collective, instance.bytes) == ("allgather", 8 * count)
        assert detected.unclaimed == []


def test_an_incomplete_one_names_who_is_missing() -> None:
    detected = detect(spmd.run(6, negatives.broadcast_but_one))
    first, second = detected.instances
    assert first.missing == second.missing == (5,)
    assert first.coverage == pytest.approx(5 / 6)


@pytest.mark.parametrize("program", [negatives.many_contacts, negatives.edges_that_all_need])
def test_what_most_ranks_are_told_is_no_incomplete_broadcast(program: spmd.Main) -> None:
    for nprocs in (5, 6, 8):
        assert detect(spmd.run(nprocs, program)).instances == []


@pytest.mark.parametrize("program", [negatives.lists_of_contacts, negatives.larger_objects])
def test_what_a_line_does_now_and_then_is_no_collective(program: spmd.Main) -> None:
    for nprocs in (3, 4):
        assert detect(spmd.run(nprocs, program)).instances == []


def test_of_four_ranks_blocks_go_round_in_turn_where_nothing_else_is_sent() -> None:
    def main(me: spmd.Rank) -> spmd.Waits:
        for _ in range(3):
            yield from exchanges.alltoall_in_scratch(me, 8)

    found = detect(spmd.run(4, main)).instances
    assert [each.collective for each in found] == ["alltoall"] * 3
    assert {each.evidence for each in found} == {"assumed"}
    assert detect(spmd.run(4, negatives.multipartition)).instances == []


def test_a_message_belongs_to_one_instance() -> None:
    def main(me: spmd.Rank) -> spmd.Waits:
        for _ in range(3):
            yield from broadcasts.scatter_allgather(me, me.data(64), 0)
            yield from negatives.halo(me, 2)

    detected = detect(spmd.run(5, main))
    claimed = [message for each in detected.instances for message in each.messages]
    assert len(claimed) == len(set(claimed))
    assert set(claimed) | set(detected.unclaimed) == set(range(len(detected.traffic)))


def test_clocks_that_are_wrong_do_not_matter() -> None:
    """Receives that end before their sends: the order of messages is kept, that of times is not."""
    recording = spmd.run(6, lambda me: broadcasts.binomial(me, me.data(20), 0))
    events = recording.events.copy()
    for name in ("post_ns", "start_ns", "end_ns"):
        events[name] -= 5000 * events["rank"].astype(np.int64)
    (instance,) = detect(msgspec.structs.replace(recording, events=events)).instances
    assert (instance.collective, instance.roots) == ("bcast", (0,))


def test_nothing_at_all() -> None:
    assert detect(RankProgram(3).recording()).instances == []


def test_a_whole_for_one_and_pieces_for_the_others() -> None:
    """HPL's blonM: a copy for the next rank, scatter and allgather among the others."""
    data = np.random.default_rng(1).normal(size=60)
    program = RankProgram(4)
    program.message(0, 1, data, source_address=0x1000, target_address=0x9000, site="b.c:1")
    places = [(3, 40, 60), (2, 20, 40)]
    for rank, low, high in places:
        program.message(
            0,
            rank,
            data[low:high],
            source_address=0x1000 + 8 * low,
            target_address=0x9000 + 8 * low,
            site="b.c:2",
        )
    for source, target, low, high in ((0, 2, 0, 20), (2, 3, 20, 40), (3, 2, 40, 60), (2, 3, 0, 20)):
        start = (0x1000 if source == 0 else 0x9000) + 8 * low
        program.message(
            source,
            target,
            data[low:high],
            source_address=start,
            target_address=0x9000 + 8 * low,
            site="b.c:3",
        )
    (instance,) = detect(program.recording()).instances
    assert (instance.collective, instance.bytes, instance.roots) == ("bcast", 480, (0,))
    assert len(instance.messages) == 7


def test_a_whole_and_pieces_of_a_derived_type() -> None:
    """HPL's blonM on 1 x 4: the panel as a whole for the next rank, pieces that roll for the
    others. At the root the last piece lies before the others, and again where it lay in the panel
    before; the others receive a shorter panel into the same place."""
    program, tail, buffer = RankProgram(4), 1 << 20, 1 << 24
    wanted = []
    for panel in range(4):
        count = 3000 - 300 * panel
        data = np.random.default_rng(panel).uniform(1, 2, 3 * count)
        head, size = (1 << 22) + 800 * panel, 8 * count
        at_root = [head, head + size, tail]

        def passed(
            source: int,
            target: int,
            piece: int | None,
            data: npt.NDArray[np.float64] = data,
            count: int = count,
            size: int = size,
            at_root: list[int] = at_root,
        ) -> None:
            content = data if piece is None else data[piece * count : (piece + 1) * count]
            there = buffer + size * (piece or 0)
            own = tail if piece is None else at_root[piece]
            sides = []
            for rank in (source, target):
                flags = Flag.NOT_CONTIGUOUS if rank == 0 else Flag(0)
                sides.append({"address": own if rank == 0 else there, "flags": flags})
            program.send(source, target, content, tag=1, site=["blonM"], **sides[0])
            program.receive(target, source, tag=1, site=["blonM"], **sides[1])

        passed(0, 1, None)
        for source, target, piece in (
            *((0, 3, 2), (3, 0, 2), (0, 2, 1), (2, 0, 1)),
            *((0, 2, 0), (2, 3, 1), (0, 3, 0), (3, 2, 2)),
        ):
            passed(source, target, piece)
        for _ in range(40):  # other things, that come between two panels
            program.send(0, 1, np.random.default_rng().uniform(1, 2, 4), tag=2, site=["other"])
            program.receive(1, 0, tag=2, site=["other"])
        wanted.append(("bcast", 24 * count, (0,)))
    found = detect(program.recording()).instances
    assert [(each.collective, each.bytes, each.roots) for each in found] == wanted


def test_pieces_one_by_one_and_the_whole_much_later() -> None:
    """HPL's back substitution: parts of a solution for a neighbour, each when it is there, into
    one place; all of it for another rank in the end. A panel that was broadcast before stays one,
    though a part of it is sent again."""
    program, random = RankProgram(3), np.random.default_rng(3)
    panel = random.uniform(1, 2, 400)
    for source, target in ((2, 0), (0, 1)):
        place = {"source_address": 0x10000, "target_address": 0x10000}
        program.message(source, target, panel, site="panel", tag=1, **place)
    solution = random.uniform(1, 2, 128)
    for part in range(4):
        own = solution[32 * part : 32 * part + 32]
        program.message(
            *(2, 1, own),
            source_address=0x4000 + 256 * part,
            target_address=0x8000,
            site="part",
            tag=part + 10,
        )
        for _ in range(20):
            program.message(2, 1, random.uniform(1, 2, 4), site="other", tag=2)
    whole = {"source_address": 0x4000, "target_address": 0x9000}
    program.message(2, 0, solution, site="whole", tag=3, **whole)
    again = {"source_address": 0x10000, "target_address": 0xA000}
    program.message(2, 0, panel[:200], site="whole", tag=3, **again)
    found = detect(program.recording()).instances
    assert [(each.collective, each.bytes, each.roots) for each in found] == [("bcast", 3200, (2,))]


def test_pieces_of_which_one_lies_where_it_lay_before() -> None:
    """HPL's blong: of each panel the root sends a piece of the matrix first, then one that it has
    copied to where that of the panel before was. They belong together, and not to the last one."""
    program, random, copied, buffer = RankProgram(3), np.random.default_rng(5), 1 << 20, 1 << 24
    for panel in range(4):
        pieces = [random.uniform(1, 2, 300), random.uniform(1, 2, 300)]
        at_root = [copied, (1 << 22) + 8000 * panel]
        for rank, piece in ((2, 1), (1, 0)):  # scatter
            place = {"source_address": at_root[piece], "target_address": buffer + 2400 * piece}
            program.message(0, rank, pieces[piece], site="scatter", tag=panel, **place)
        for source, target, piece in ((1, 2, 0), (2, 1, 1)):  # and allgather
            place = dict.fromkeys(("source_address", "target_address"), buffer + 2400 * piece)
            program.message(source, target, pieces[piece], site="roll", tag=panel, **place)
        for _ in range(20):
            program.message(0, 1, random.uniform(1, 2, 4), site="other", tag=99)
    found = detect(program.recording()).instances
    told = [(each.collective, each.bytes, each.roots, len(each.messages)) for each in found]
    assert told == [("bcast", 4800, (0,), 4)] * 4
