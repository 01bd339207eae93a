"""Which layouts a site measures, and what lies between them."""

from __future__ import annotations

import pytest

from plumbline.site.layouts import RankLayout, SiteTable, ends, gaps, grid, neighbour, read
from plumbline.system.toml import Document
from plumbline_db.errors import UsageError


def names(layouts: list[RankLayout]) -> list[str]:
    return [str(layout) for layout in layouts]


def test_powers_of_two_and_all_there_are() -> None:
    assert names(grid(SiteTable(), RankLayout(1, 6))) == ["1x2", "1x4", "1x6"]
    assert names(grid(SiteTable(), RankLayout(6, 1))) == ["2x1", "4x1", "6x1"]


def test_ranks_of_a_node_and_one_rank_of_each_node_are_layouts() -> None:
    layouts = grid(SiteTable(), RankLayout(4, 4))
    assert {RankLayout(1, 4), RankLayout(4, 1), RankLayout(4, 2), RankLayout(4, 4)} <= set(layouts)
    assert layouts == sorted(layouts, key=lambda layout: (layout.nprocs, layout.nodes))


def test_named_numbers_of_ranks() -> None:
    assert names(grid(SiteTable(ranks=[2, 3, 8]), RankLayout(1, 2))) == ["1x2", "1x3", "1x8"]
    table = SiteTable(ranks=[4, 6], ranks_per_node=[1, 2])
    assert names(grid(table, RankLayout(4, 2))) == ["2x2", "4x1", "3x2"]
    assert grid(SiteTable(ranks=[16], ranks_per_node=[1]), RankLayout(4, 1)) == []


def test_gaps_lie_between_neighbours_that_differ_in_one_number() -> None:
    found = gaps([RankLayout(2, 1), RankLayout(4, 1), RankLayout(5, 1), RankLayout(2, 4)])
    assert [(str(gap.lower), str(gap.upper), names(gap.layouts())) for gap in found] == [
        ("2x1", "4x1", ["3x1"]),
        ("2x1", "2x4", ["2x2", "2x3"]),
    ]
    assert str(found[1].middle()) == "2x3"


def test_all_other_layouts_lie_between_the_ends() -> None:
    assert names(ends(grid(SiteTable(ranks=[2, 3, 4, 6, 8]), RankLayout(1, 8)))) == ["1x2", "1x8"]
    every = grid(SiteTable(), RankLayout(8, 4))
    assert names(ends(every)) == ["1x2", "2x1", "1x4", "8x1", "8x4"]
    known = ends(every)
    while inside := {each for gap in gaps(known) for each in gap.layouts()} & {*every} - {*known}:
        known += inside
    assert sorted(known) == sorted(every)
    alone = [RankLayout(1, 4), RankLayout(2, 1), RankLayout(4, 2)]
    assert ends(alone) == alone and ends([]) == []


def test_the_nearest_neighbour_differs_in_one_number_alone() -> None:
    measured = [RankLayout(1, 4), RankLayout(2, 1), RankLayout(4, 1), RankLayout(4, 4)]
    assert neighbour(RankLayout(8, 1), measured) == RankLayout(4, 1)
    assert neighbour(RankLayout(2, 4), measured) == RankLayout(1, 4)
    assert neighbour(RankLayout(8, 8), measured) is None


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"ranks": [0]}, "must be at least 1"),
        ({"budget_seconds": -1}, "must not be negative"),
        ({"rank": [2]}, "unknown field `rank`"),
    ],
)
def test_mistakes_in_the_table(table: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read(Document("a.toml", "", {"site": table}))
