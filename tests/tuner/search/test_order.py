"""In which order cells are searched, what races along, what bounds a cell, and to whom a new
violation is owed."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.guidelines import Guidelines, load
from plumbline.search.breaking import Neighbours, broken
from plumbline.search.order import Order
from plumbline.search.race.bound import Bound, bounds
from plumbline.search.race.evidence import Evidence
from plumbline.search.race.neighbours import SPAN, around, earlier, grid_sizes, unbeaten
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.cells import Target
from plumbline_db import campaigns, winners
from plumbline_db.records import Case, Verdict, Winner
from plumbline_db.runs import LaunchSamples
from tests.db import build
from tests.tuner.lab import Lab

RULES = load()
NAMES = [f"MPI_{letter}" for letter in "ABCDEF"]


def graph(edges: set[tuple[str, str]]) -> Guidelines:
    """Each left side ⪯ its right side."""
    (one, *_) = RULES.patterns
    patterns = [
        msgspec.structs.replace(one, id=f"{lhs}-{used}", lhs=lhs, variant="x", uses=[used])
        for lhs, used in sorted(edges)
    ]
    return msgspec.structs.replace(RULES, patterns=patterns)


def violated(lhs: str, used: str, size: int = 64, **more: object) -> Verdict:
    values = {"guideline": f"{lhs}-{used}", "function": lhs, "bytes": size, "other_bytes": size}
    return build.verdict("before", **(values | more))


EDGES = st.sets(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda one: one[0] != one[1])
)


def reach(edges: set[tuple[str, str]], start: str) -> set[str]:
    seen: set[str] = set()
    while more := {b for a, b in edges if a in seen | {start}} - seen:
        seen |= more
    return seen


@given(EDGES)
def test_right_sides_come_first_and_circles_together(edges: set[tuple[str, str]]) -> None:
    table = [violated(*one) for one in sorted(edges)]
    targets = [Target(name, 64) for name in NAMES]
    layers = Order(graph(edges)).layers(targets, table)
    assert sorted(itertools.chain(*layers)) == targets
    level = {one.function: number for number, layer in enumerate(layers) for one in layer}
    for lhs, used in edges:
        circle = lhs in reach(edges, used)
        assert level[used] == level[lhs] if circle else level[used] < level[lhs]


def test_only_what_is_to_be_searched_at_the_same_size_is_waited_for() -> None:
    edges = {("MPI_A", "MPI_B")}
    order = Order(graph(edges))
    small, large = Target("MPI_A", 64), Target("MPI_B", 1024)
    assert order.layers([small, large], [violated("MPI_A", "MPI_B")]) == [[small, large]]
    both = [small, Target("MPI_B", 64), large]
    assert order.layers(both, [violated("MPI_A", "MPI_B")]) == [both[1:], [small]]
    holds = violated("MPI_A", "MPI_B", verdict="holds")
    assert order.layers(both, [holds]) == [both]


def monotony(size: int, larger: int, ratio: float, word: str = "holds") -> Verdict:
    return build.verdict(
        "before",
        guideline="GL1",
        kind="monotony",
        function="MPI_Bcast",
        bytes=size,
        other_bytes=larger,
        ratio=ratio,
        verdict=word,
    )


def test_sizes_race_along_whose_monotony_a_winner_can_break() -> None:
    """Times 9, 16, 18, 10, 40: at 512 B the call should take half of 10."""
    pattern = build.verdict("before", function="MPI_Bcast", bytes=512, ratio=2.0)
    table = [
        monotony(64, 128, 9 / 16),
        monotony(128, 256, 16 / 18),
        monotony(256, 512, 1.8, "violated"),
        monotony(512, 1024, 0.25),
        pattern,
    ]
    found = Neighbours(table, 0.05)
    target = Target("MPI_Bcast", 512)
    assert found.of([target]) == [Target("MPI_Bcast", size) for size in (64, 128, 256)]
    # 256 B is a target itself: what is below it is measured by its own needs.
    below = Target("MPI_Bcast", 256)
    assert found.of([target, below]) == [Target("MPI_Bcast", 128)]
    mild = msgspec.structs.replace(pattern, ratio=1.1)
    assert Neighbours([*table[:2], monotony(256, 512, 0.9), mild], 0.05).of([target]) == []


def test_what_winners_break_at_other_sizes_is_told() -> None:
    """Half of a message takes half of the time it took: two halves are faster than the whole."""
    halves = RULES.split.variant("MPI_Bcast", 2)
    split = build.verdict(
        "before",
        guideline="GL2",
        kind="split",
        function="MPI_Bcast",
        bytes=1024,
        other_bytes=0,
        rhs=halves,
        ratio=0.8,
        verdict="holds",
    )
    unclear = monotony(64, 128, 1.2, "undecided")
    table = [split, unclear, monotony(256, 512, 0.6), monotony(512, 1024, 0.9)]
    order = Order(RULES)

    def raised(**becomes: float) -> list[tuple[str, int, float]]:
        cells = {Target("MPI_Bcast", int(size[1:])): ratio for size, ratio in becomes.items()}
        found = broken(table, cells, order.other_size, 1.05)
        assert all(verdict.verdict == "violated" for verdict in found)
        return [(verdict.guideline, verdict.bytes, verdict.ratio or 0) for verdict in found]

    assert raised() == []
    assert raised(_512=0.5) == [("GL2", 1024, 1.6), ("GL1", 256, 1.2)]
    assert raised(_512=0.5, _1024=0.5) == [("GL1", 256, 1.2)]


def test_what_a_winner_breaks_is_known_before_it_is_measured() -> None:
    table = [monotony(128, 256, 0.8), monotony(256, 512, 0.9)]
    found = Neighbours(table, 0.05)
    one, two, three = (Target("MPI_Bcast", size) for size in (128, 256, 512))
    assert found.broken([one, two], {three: 0.5}) == {two: "GL1@256"}
    assert found.broken([one], {three: 0.5, two: 0.5}) == {one: "GL1@128"}
    assert found.broken([one, two], {three: 0.9, two: 0.9}) == {}


def test_a_new_violation_is_owed_to_who_made_its_right_side_faster() -> None:
    def winner(function: str, low: int, high: int) -> Winner:
        return build.winner(function=function, bytes_from=low, bytes_to=high)

    order = Order(graph({("MPI_A", "MPI_B")}))
    own, other, far = winner("MPI_A", 1, 99), winner("MPI_B", 1, 99), winner("MPI_B", 100, 999)
    pattern = violated("MPI_A", "MPI_B")
    assert order.raised_by(pattern, [own, other, far]) == [other]
    assert order.raised_by(pattern, [own, far]) == [far]
    assert order.raised_by(pattern, [own]) == []
    above = violated("MPI_A", "MPI_A", kind="monotony", other_bytes=128)
    larger = winner("MPI_A", 100, 999)
    assert order.raised_by(above, [own, larger, other]) == [larger]
    halves = violated("MPI_A", "MPI_A", 128, kind="split", rhs=RULES.split.variant("MPI_A", 2))
    assert order.raised_by(halves, [own, larger, other]) == [own]


# --- sizes and earlier campaigns ------------------------------------------------------------------


SIZES = st.lists(st.integers(1, 2**20), unique=True, min_size=1).map(sorted)


@given(SIZES)
def test_grid_sizes_hold_both_ends_and_leave_no_gap(sizes: list[int]) -> None:
    found = grid_sizes(sizes)
    assert found[0] == sizes[0] and found[-1] == sizes[-1]
    for size in set(sizes) - set(found):
        low, high = around(size, found)
        assert low < size < high and size <= low * SPAN


LINES = st.lists(
    st.tuples(st.floats(1e3, 1e5), st.floats(0.1, 10)), min_size=1, max_size=6, unique=True
)


@given(LINES, st.integers(65, 65535))
def test_of_straight_lines_none_is_lost_that_may_win_in_between(
    lines: list[tuple[float, float]], size: int
) -> None:
    """Hockney's model: the best in between is never beaten at both ends."""
    ends = [Target("MPI_Bcast", 64), Target("MPI_Bcast", 65536)]
    found = Evidence(exact=True)

    def ns(line: tuple[float, float], at: int) -> float:
        return line[0] + line[1] * at

    def put(variant: str, line: tuple[float, float]) -> None:
        for end in ends:
            case = Case("MPI_Bcast", variant, {}, "default", end.bytes, "MPI_BYTE", "MPI_BOR", 0)
            found.add([LaunchSamples(case, [1], [np.array([round(ns(line, end.bytes))])])], 1)

    put("default", lines[0])
    names = [Candidate(f"v{number}") for number in range(len(lines))]
    for name, line in zip(names, lines, strict=True):
        put(name.variant, line)
    best = min(zip(names, lines, strict=True), key=lambda one: ns(one[1], size))[0]
    assert best in unbeaten(found, ends, names, 0.0)


def test_earlier_campaigns_with_this_library_the_nearest_number_of_ranks_first(lab: Lab) -> None:
    def past(name: str, nprocs: int, finished: str, variant: str) -> None:
        one = msgspec.structs.replace(
            lab.campaign,
            id=name,
            key=name,
            nprocs=nprocs,
            state="running",
            started="2025-01-01T00:00Z",
        )
        campaigns.put(lab.db, one)
        campaigns.put(lab.db, msgspec.structs.replace(one, state="finished", finished=finished))
        winners.put(lab.db, name, [build.winner(nprocs=nprocs, variant=variant, configuration={})])

    past("far", 64, "2025-01-02T00:00Z", "allreduce_far")
    past("near", 8, "2025-01-02T00:00Z", "allreduce_near")
    past("later", 4, "2999-01-01T00:00Z", "allreduce_later")
    at = earlier(lab.db, lab.campaign.id)
    assert at(Target("MPI_Allreduce", 16384)) == [
        Candidate("allreduce_near"),
        Candidate("allreduce_far"),
    ]
    assert at(Target("MPI_Allreduce", 4)) == at(Target("MPI_Bcast", 16384)) == []


# --- which right-hand side bounds a cell ----------------------------------------------------------


CELL = Target("MPI_Allreduce", 16384)


def violation(ratio: float, **changes: object) -> Verdict:
    return build.verdict("before", ratio=ratio, **changes)


def test_the_fastest_right_hand_side_is_the_bound() -> None:
    slow = violation(1.2, guideline="GL13", rhs="allreduce_as_other")
    fast = violation(1.9)
    for table in ([slow, fast], [fast, slow]):
        (found,) = bounds(table).items()
        assert found == (
            CELL,
            Bound("GL12@16384", CELL, Candidate("allreduce_as_reduce_plus_bcast")),
        )


def test_another_size_of_the_function_itself_and_pieces() -> None:
    larger = violation(
        1.3, guideline="GL1", kind="monotony", rhs="MPI_Allreduce", other_bytes=65536
    )
    assert bounds([larger])[CELL] == Bound("GL1@16384", Target("MPI_Allreduce", 65536))
    pieces = msgspec.structs.replace(
        larger, guideline="GL2", kind="split", other_bytes=4096, factor=4
    )
    bound = bounds([pieces])[CELL]
    assert (bound.cell.bytes, bound.times, bound.candidate) == (4096, 4, DEFAULT)
    assert bound.case.bytes == 4096


def test_what_holds_or_cannot_be_replaced_is_no_bound() -> None:
    table = [
        violation(1.9, verdict="holds"),
        violation(1.9, verdict="undecided"),
        violation(1.9, lhs="allreduce_as_iallreduce_plus_wait"),
        violation(1.9, kind="rank", ranks=2),
    ]
    assert bounds(table) == {}
