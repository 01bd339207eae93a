"""What is proposed for layouts that no campaign measured, and what a check leaves of it."""

from __future__ import annotations

import msgspec

from plumbline.core.cell import Target
from plumbline.site.checks import CheckedLayout, without_harm
from plumbline.site.layouts import Gap, RankLayout
from plumbline.site.proposals import (
    MemberFindings,
    carried,
    differing,
    is_for_layout,
    measured,
    open_share,
)
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Search, Trial, Winner
from plumbline_exporters.bundle import conditions, evidence, is_profile, span

FOUR, EIGHT = RankLayout(4, 1), RankLayout(8, 1)
GAP = Gap(FOUR, EIGHT, RankLayout(5, 1), RankLayout(7, 1))


def winner(layout: RankLayout, variant: str, first: int, last: int, **more: object) -> Winner:
    made = Winner(
        function="MPI_Allreduce",
        nprocs=layout.nprocs,
        ppn=layout.ppn,
        bytes_from=first,
        bytes_to=last,
        variant=variant,
        configuration={},
        search_speedup=2.0,
        speedup=2.0,
        speedup_low=1.9,
        speedup_high=2.1,
        removes=["GL12@64"],
        restrictions=[],
    )
    return msgspec.structs.replace(made, **more)


def search(size: int, **ratios: float) -> Search:
    trials = [
        Trial(name, {}, "measured", ratio, ratio, ratio, 1, "") for name, ratio in ratios.items()
    ]
    return Search(1, "MPI_Allreduce", 4, 1, size, [], "winner", "", trials, [])


def member(
    layout: RankLayout, *winners: Winner, searches: list[Search] | None = None
) -> MemberFindings:
    return MemberFindings(f"campaign-{layout}", layout, list(winners), searches or [])


def test_only_where_both_neighbours_agree() -> None:
    lower = member(FOUR, winner(FOUR, "a", 8, 100), winner(FOUR, "b", 101, 4000))
    upper = member(EIGHT, winner(EIGHT, "a", 50, 200), winner(EIGHT, "c", 201, 4000))
    (rule,) = carried(GAP, {FOUR: lower, EIGHT: upper}, is_profile)
    assert (rule.variant, rule.bytes_from, rule.bytes_to) == ("a", 50, 100)
    assert [span(rule, key) for key in ("nprocs", "nodes", "ppn")] == [(5, 7), (5, 7), (1, 1)]
    assert evidence(rule) == "carried over from 4x1 and 8x1"
    assert conditions(rule) == [] and rule.removes == []


def test_a_candidate_that_is_faster_at_both_is_agreed_upon_too() -> None:
    """It need not have won at either; one that is slower at a neighbour is not carried over."""
    lower = member(FOUR, searches=[search(64, a=0.5, b=0.8, c=0.7)])
    upper = member(EIGHT, searches=[search(64, a=1.2, b=0.9, c=0.6)])
    (rule,) = carried(GAP, {FOUR: lower, EIGHT: upper}, is_profile)
    assert rule.variant == "c" and round(rule.speedup, 2) == 1.54


def test_a_regression_over_layouts_and_sizes_proposes_where_neighbours_differ() -> None:
    """A regression expects a gain at six ranks of a candidate that is much faster at four, and at
    eight for all sizes but one. It expects none of what one layout alone has measured."""
    sizes = (64, 256, 1024)
    lower = [search(size, a=0.5, c=0.5) for size in sizes]
    upper = [search(64, a=0.5), search(256, a=1.02), search(1024, a=0.5)]
    members = {FOUR: member(FOUR, searches=lower), EIGHT: member(EIGHT, searches=upper)}
    rules = carried(GAP, members, is_profile)
    assert {rule.variant for rule in rules} == {"a"}
    (rule,) = (rule for rule in rules if rule.bytes_from <= 256 <= rule.bytes_to)
    assert 1.2 < rule.speedup < 2 and evidence(rule) == "carried over from 4x1 and 8x1"
    upper = [search(size, a=1.9) for size in sizes]
    members[EIGHT] = member(EIGHT, searches=upper)
    assert carried(GAP, members, is_profile) == []


def test_a_regression_says_which_layouts_it_rests_on() -> None:
    """The evidence names all layouts that have measured a candidate, not two alone."""
    two = RankLayout(2, 1)
    found = {
        layout: member(layout, searches=[search(64, a=ratio)])
        for layout, ratio in {two: 0.5, FOUR: 0.5, EIGHT: 1.0}.items()
    }
    (rule,) = carried(GAP, found, is_profile)
    assert evidence(rule) == "carried over from 2x1, 4x1 and 8x1"


def test_a_winner_for_the_whole_process_has_no_rule() -> None:
    """Nor have the others of its function, which were confirmed beside it."""
    knob = winner(FOUR, "default", 0, 4000, configuration={"smpi/allreduce": "lr"})
    found = member(FOUR, knob, winner(FOUR, "x", 64, 64), searches=[search(64, a=0.5, x=0.9)])
    assert measured(found, is_profile) == []
    (rule,) = measured(member(FOUR, winner(FOUR, "x", 64, 64)), is_profile)
    assert (rule.variant, evidence(rule)) == ("x", "measured on 4x1")


def test_which_layouts_a_rule_decides() -> None:
    words = ["nprocs=5-7", "nodes=5-7", "ppn=1-1"]
    variant = winner(RankLayout(5, 1), "a", 8, 100, restrictions=words)
    assert is_for_layout(variant, RankLayout(6, 1)) and not is_for_layout(variant, RankLayout(3, 2))
    rule = msgspec.structs.replace(variant, variant="default", configuration={"knob": "1"})
    assert is_for_layout(rule, RankLayout(3, 2)) and not is_for_layout(rule, EIGHT)


def test_what_a_gap_leaves_open() -> None:
    """Both neighbours decide two cells and one of them another one; one rule is between."""
    cells = [Target("MPI_Allreduce", size) for size in (8, 64, 512, 4096)]
    words = ["nprocs=5-7", "nodes=5-7", "ppn=1-1"]
    between = winner(RankLayout(5, 1), "a", 8, 8, restrictions=words)
    rules = [winner(FOUR, "a", 8, 64), winner(EIGHT, "b", 8, 512), between]
    assert open_share(GAP, rules, cells) == 3 / 5
    assert differing(GAP, rules, cells) == [Target("MPI_Allreduce", 64)]
    assert open_share(GAP, [], cells) == 0.0


def test_a_checked_layout_is_a_neighbour_like_a_measured_one() -> None:
    """The rules are for this layout alone; a rule that gained nothing is known too."""
    six, words = RankLayout(6, 1), ["nprocs=5-7", "nodes=5-7", "ppn=1-1", "carried=4x1,8x1"]
    kept = winner(RankLayout(5, 1), "a", 8, 64, restrictions=[*words, "checked=6x1", "type=int"])
    useless = winner(RankLayout(5, 1), "b", 65, 512, restrictions=words)
    small, large = (Target("MPI_Allreduce", size) for size in (64, 512))
    ratios = {
        small: Comparison(ratio=0.5, low=0.4, high=0.6, p=0.01, n=6, reason=""),
        large: Comparison(ratio=1.0, low=0.9, high=1.1, p=0.5, n=6, reason=""),
    }
    found = checked(cells=frozenset(ratios), ratios=ratios).findings(
        [kept, useless], [kept], [small, large, Target("MPI_Gather", 64)]
    )
    (own,) = found.winners
    assert (own.nprocs, own.ppn, own.restrictions) == (6, 1, ["type=int"])
    assert is_for_layout(own, six) and not is_for_layout(own, RankLayout(5, 1))
    assert found.sizes() == {(each.function, each.bytes) for each in (small, large)} | {
        ("MPI_Gather", 64)
    }
    assert [(each.variant, each.speedup) for each in found.tried()] == [("a", 2.0), ("b", 1.0)]
    (rule,) = carried(
        Gap(FOUR, six, RankLayout(5, 1), RankLayout(5, 1)),
        {FOUR: member(FOUR, winner(FOUR, "a", 8, 64, restrictions=["type=int"])), six: found},
        is_profile,
    )
    assert [span(rule, key) for key in ("nprocs", "nodes", "ppn")] == [(5, 5), (5, 5), (1, 1)]
    assert evidence(rule) == "carried over from 4x1 and 6x1" and conditions(rule) == ["type=int"]


def checked(**sets: object) -> CheckedLayout:
    made = CheckedLayout(RankLayout(6, 1), frozenset(), frozenset(), frozenset(), {})
    return msgspec.structs.replace(made, **sets)


def test_harm_in_between_costs_a_rule_its_sizes() -> None:
    words = ["nprocs=5-7", "nodes=5-7", "ppn=1-1"]
    rule = winner(RankLayout(5, 1), "a", 8, 4000, restrictions=words, removes=[])
    other = winner(FOUR, "a", 8, 4000, removes=[])
    sizes = {"MPI_Allreduce": [64, 1024, 4000]}
    harm = checked(slower=frozenset({Target("MPI_Allreduce", 1024)}))
    kept, lost = without_harm([rule, other], harm, sizes, {})
    assert other in kept and [(each.bytes_from, each.bytes_to) for each in lost] == [(1024, 1024)]
    left = sorted((each.bytes_from, each.bytes_to) for each in kept if each is not other)
    assert left == [(8, 64), (4000, 4000)]


def test_harm_that_no_rule_decides_costs_all_rules_of_the_function() -> None:
    rule = winner(RankLayout(6, 1), "a", 8, 100, removes=[])
    harm = checked(lost=frozenset({Target("MPI_Allreduce", 1024)}))
    assert without_harm([rule], harm, {"MPI_Allreduce": [64, 1024]}, {}) == ([], [rule])


def test_a_rule_of_a_function_that_another_one_is_built_on_is_blamed() -> None:
    knobs = {"coll_tuned_allreduce_algorithm": "3"}
    rule = winner(RankLayout(6, 1), "default", 8, 100, configuration=knobs)
    other = msgspec.structs.replace(rule, function="MPI_Gather")
    harm = checked(slower=frozenset({Target("MPI_Barrier", 64)}))
    built_on = {"MPI_Barrier": {"MPI_Allreduce"}}
    assert without_harm([rule, other], harm, {}, built_on) == ([other], [rule])
