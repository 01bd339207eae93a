"""In which order cells are searched, what races along, what bounds a cell, and to whom a new
violation is owed."""

from __future__ import annotations

import itertools

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.core.guidelines import Guidelines, load
from plumbline.search.order import DependencyOrder
from plumbline.search.rescue import Neighbours, broken
from plumbline_db.records import Verdict
from tests.db import build

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
    layers = DependencyOrder(graph(edges)).layers(targets, table)
    assert sorted(itertools.chain(*layers)) == targets
    level = {one.function: number for number, layer in enumerate(layers) for one in layer}
    for lhs, used in edges:
        circle = lhs in reach(edges, used)
        assert level[used] == level[lhs] if circle else level[used] < level[lhs]


def test_only_what_is_to_be_searched_at_the_same_size_is_waited_for() -> None:
    edges = {("MPI_A", "MPI_B")}
    order = DependencyOrder(graph(edges))
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
    order = DependencyOrder(RULES)

    def raised(**becomes: float) -> list[tuple[str, int, float]]:
        cells = {Target("MPI_Bcast", int(size[1:])): ratio for size, ratio in becomes.items()}
        found = broken(table, cells, order.made_of, 1.05)
        assert all(verdict.verdict == "violated" for verdict in found)
        return [(verdict.guideline, verdict.bytes, verdict.ratio or 0) for verdict in found]

    assert raised() == []
    assert raised(_512=0.5) == [("GL2", 1024, 1.6), ("GL1", 256, 1.2)]
    assert raised(_512=0.5, _1024=0.5) == [("GL1", 256, 1.2)]


def test_what_winners_of_right_hand_sides_break_is_told() -> None:
    """Two functions behind one another become faster by what the less of them does."""
    (one, *_) = RULES.patterns
    both = msgspec.structs.replace(one, id="A-BC", lhs="MPI_A", uses=["MPI_B", "MPI_C"])
    order = DependencyOrder(msgspec.structs.replace(RULES, patterns=[both]))
    held = violated("MPI_A", "BC", guideline="A-BC", ratio=0.8, verdict="holds")
    cells = {Target(f"MPI_{name}", 64): ratio for name, ratio in {"B": 0.5, "C": 0.7}.items()}
    assert broken([held], {Target("MPI_B", 64): 0.5}, order.made_of, 1.05) == []
    (found,) = broken([held], cells, order.made_of, 1.05)
    assert (found.verdict, round(found.ratio or 0, 3)) == ("violated", round(0.8 / 0.7, 3))
    faster = cells | {Target("MPI_A", 64): 0.6}
    assert broken([held], faster, order.made_of, 1.05) == []


def test_what_a_winner_breaks_is_known_before_it_is_measured() -> None:
    table = [monotony(128, 256, 0.8), monotony(256, 512, 0.9)]
    found = Neighbours(table, 0.05)
    one, two, three = (Target("MPI_Bcast", size) for size in (128, 256, 512))
    assert found.broken([one, two], {three: 0.5}) == {two: "GL1@256"}
    assert found.broken([one], {three: 0.5, two: 0.5}) == {one: "GL1@128"}
    assert found.broken([one, two], {three: 0.9, two: 0.9}) == {}
