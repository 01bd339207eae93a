"""Which cells are searched, how often, and how new winners join standing ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.core.winner import cut_back, of_measured_sizes, pieces_inside
from plumbline.search.rounds import Around, Rounds, idle
from plumbline.settings.campaign_file import load
from plumbline_db import campaigns
from plumbline_db.records import Verdict, Winner
from tests.db import build
from tests.tuner.lab import Lab
from tests.tuner.search.racing import SHORT, rounds_for
from tests.tuner.search.test_candidates import candidate_space
from tests.tuner.simulated import Costs, SimulatedStarter

BOUND = 40
RANGES = st.tuples(st.integers(0, BOUND), st.integers(0, BOUND)).map(sorted)


def winner(low: int, high: int, variant: str = "allreduce_as_one", **more: object) -> Winner:
    return build.winner(bytes_from=low, bytes_to=high, variant=variant, **more)


def held(winners: list[Winner]) -> list[int]:
    return sorted(n for one in winners for n in range(one.bytes_from, one.bytes_to + 1))


@given(RANGES, st.lists(RANGES, max_size=4))
def test_what_is_taken_over_is_given_up_and_nothing_else(
    own: list[int], taken: list[list[int]]
) -> None:
    new = [winner(low, high, "allreduce_as_other") for low, high in taken]
    kept = held(cut_back([winner(*own)], new))
    assert kept == sorted(set(held([winner(*own)])) - set(held(new)))


def test_a_knob_and_other_functions_keep_their_range() -> None:
    new = [winner(10, 20)]
    standing = [winner(0, 40, "default"), winner(0, 40, function="MPI_Reduce")]
    assert cut_back(standing, new) == standing


def test_what_is_left_of_no_measured_size_is_given_up() -> None:
    """No cell would prove it: an unmeasured rest of a range ends nothing."""
    sizes = {"MPI_Allreduce": [8, 32], "MPI_Bcast": [32]}
    rest = cut_back([winner(4, 40)], [winner(6, 35, "allreduce_as_other")])
    assert held(rest) == [4, 5, 36, 37, 38, 39, 40] and of_measured_sizes(rest, sizes) == []
    whole = winner(0, 40, "default", function="*")
    assert of_measured_sizes([whole, winner(4, 9)], sizes) == [whole, winner(4, 9)]


GATHER_MOCKUP = "gather_as_reduce"
SLOW_BCAST = Costs(
    default={"MPI_Bcast": lambda _: 4.0},
    algorithm={
        ("MPI_Bcast", "chain"): lambda *_: 0.5,
        ("MPI_Bcast", "binomial"): lambda *_: 0.8,
        ("MPI_Bcast", "pipeline"): lambda *_: 0.9,
    },
)

SLOW_AT_SMALL = Costs(
    default={"MPI_Bcast": lambda size: 4.0 if size < 4096 else 0.4},
    algorithm={("MPI_Bcast", "chain"): lambda *_: 0.5},
)


def held_of(winners: Sequence[Winner], sizes: Sequence[int]) -> list[int]:
    return [
        size for size in sizes if any(one.bytes_from <= size <= one.bytes_to for one in winners)
    ]


def violated(function: str, size: int, kind: str = "pattern") -> Verdict:
    return build.verdict("before", function=function, bytes=size, kind=kind)


def asking() -> tuple[list[list[Winner]], Callable[[Sequence[Winner]], dict[str, str]]]:
    """What is asked to be in force, and who is asked."""
    asked: list[list[Winner]] = []

    def in_force(winners: Sequence[Winner]) -> dict[str, str]:
        asked.append(list(winners))
        return {}

    return asked, in_force


@pytest.fixture
def rounds(lab: Lab) -> Rounds:
    return rounds_of(lab, SimulatedStarter(Costs()))


def rounds_of(lab: Lab, starter: SimulatedStarter, name: str = "") -> Rounds:
    own = msgspec.structs.replace(
        lab.campaign, id=lab.campaign.id + name, key=lab.campaign.key + name
    )
    campaigns.put(lab.db, own)
    sizes = {"MPI_Gather": [64, 4096], "MPI_Bcast": [64, 4096]}
    return rounds_for(Lab(lab.db, own).store(starter), sizes)


def race(rounds: Rounds, table: list[Verdict], number: int = 1) -> list[Winner]:
    return rounds.first(Around(number, {}, [], lambda *_: {}), table, refine=lambda: False)


def test_a_cell_is_searched_once(rounds: Rounds) -> None:
    """Sizes that race because one choice must serve all of them may be searched for their own sake
    later: our variants have not raced there."""
    table = [violated("MPI_Gather", 64), violated("MPI_Bcast", 64), violated("MPI_Bcast", 64)]
    assert rounds.fresh(table) == [Target("MPI_Bcast", 64), Target("MPI_Gather", 64)]
    assert rounds.stuck(table) == []
    race(rounds, table)
    later = [*table, violated("MPI_Gather", 4096), violated("MPI_Bcast", 4096)]
    assert rounds.fresh(later) == [Target("MPI_Bcast", 4096), Target("MPI_Gather", 4096)]
    race(rounds, later, 2)
    assert rounds.fresh(later) == []


def test_a_cell_that_may_well_be_violated_is_searched_too(rounds: Rounds) -> None:
    """Beside other work the largest violations stayed undecided, and nothing searched them."""

    def undecided(size: int, ratio: float | None, **more: object) -> Verdict:
        verdict = violated("MPI_Bcast", size)
        return msgspec.structs.replace(verdict, verdict="undecided", ratio=ratio, **more)

    table = [
        undecided(64, 1.3),
        undecided(256, 1.07),  # not much above what is allowed
        undecided(1024, None),
        undecided(4096, 1.3, lhs="bcast_as_split:pieces=2"),  # no call that can be replaced
    ]
    assert rounds.fresh(table) == [Target("MPI_Bcast", 64)]
    assert rounds.fresh(table[1:]) == []


def test_a_pattern_that_stays_violated_is_searched_twice_and_no_more(rounds: Rounds) -> None:
    table = [violated("MPI_Bcast", 64), violated("MPI_Gather", 64, "monotony")]
    race(rounds, table)
    assert rounds.stuck(table) == [Target("MPI_Bcast", 64)]
    standing = [winner(64, 64, function="MPI_Bcast")]
    asked, in_force = asking()
    assert (
        rounds.second(Around(2, {}, standing, in_force), rounds.stuck(table), table) == standing
    )  # nothing better was found
    assert asked == [standing]
    assert rounds.stuck(table) == rounds.fresh(table) == []


def test_ours_are_in_force_in_races_of_what_is_made_of_them(lab: Lab) -> None:
    """In the first race of a cell and in the second: a mock-up composes as it will as a rule."""
    table = [
        build.verdict("before", function="MPI_Gather", bytes=64, kind="pattern", rhs=GATHER_MOCKUP)
    ]
    rounds = rounds_of(lab, SimulatedStarter(Costs()))
    standing = [winner(8, 4096, "reduce_ring", function="MPI_Reduce")]
    asked, in_force = asking()
    rounds.first(Around(1, {}, standing, in_force), table, refine=lambda: False)
    rounds.second(Around(2, {}, standing, in_force), rounds.stuck(table), table)
    assert asked == [standing, standing]
    *_, again = lab.searches()
    assert GATHER_MOCKUP in {trial.variant for trial in again.trials}


def test_what_has_won_races_at_all_sizes_of_its_function(lab: Lab) -> None:
    """As that costs a case in launches that are made anyway. What wins nowhere else stays
    unsearched there, so that the rest of a campaign may search it with all candidates."""
    campaigns.put(lab.db, lab.campaign)
    sizes = {"MPI_Gather": [64, 4096], "MPI_Bcast": [64, 512, 4096]}
    settings = msgspec.structs.replace(
        SHORT, search=msgspec.structs.replace(SHORT.search, all=True)
    )
    rounds = rounds_for(lab.store(SimulatedStarter(SLOW_AT_SMALL)), sizes, settings)
    table = [violated("MPI_Bcast", 64)]
    refine = iter([True, True, True])
    found = rounds.first(
        Around(1, {}, [], lambda *_: {}), table, refine=lambda: next(refine, False)
    )
    chain = [one for one in found if _algorithm(one) == "chain"]
    assert held_of(chain, [64, 512, 4096]) == [64, 512]
    assert rounds.unsearched(table) == [
        Target("MPI_Bcast", 4096),
        Target("MPI_Gather", 64),
        Target("MPI_Gather", 4096),
    ]


def test_second_choices_race_with_the_files_of_the_first(lab: Lab) -> None:
    """Others may have been written in between."""
    rounds = rounds_of(lab, SimulatedStarter(SLOW_BCAST))
    table = [violated("MPI_Bcast", 64)]
    other = winner(0, 99, "default", function="MPI_Gather", configuration={})
    asked, in_force = asking()
    found = rounds.first(Around(1, {}, [other], in_force), table, refine=lambda: False)
    assert [_algorithm(one) for one in found] == ["chain"]
    second = rounds.seconds.instead(found, [other], in_force)
    assert [_algorithm(one) for one in second] == ["binomial"]
    assert asked == [[other]] * 2


def _algorithm(winner: Winner) -> str:
    function = winner.function.removeprefix("MPI_").lower()
    return winner.configuration[f"coll_tuned_{function}_algorithm"]


def test_second_choices_of_one_race_share_launches(lab: Lab) -> None:
    """Two winners that lose their places together cost no more launches than one of them."""
    best = {64: "chain", 4096: "pipeline"}
    costs = Costs(
        default={"MPI_Bcast": lambda _: 4.0},
        algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.8}
        | {
            ("MPI_Bcast", name): lambda size, *_, own=own: 0.5 if size == own else 5.0
            for own, name in best.items()
        },
    )
    launches: list[int] = []
    for count in (1, 2):
        starter = SimulatedStarter(costs)
        rounds = rounds_of(lab, starter, f"-{count}")
        found = race(rounds, [violated("MPI_Bcast", size) for size in best])
        assert [_algorithm(one) for one in found] == list(best.values())
        before = len(starter.launches)
        second = rounds.seconds.instead(found[:count], found[count:], lambda *_: {})
        assert [_algorithm(one) for one in second] == ["binomial"] * count
        launches.append(len(starter.launches) - before)
    assert launches[1] == launches[0] > 0


def test_reserves_take_a_place_without_a_launch(lab: Lab) -> None:
    """Only where they have held: a cell at which the reserve failed too has no other."""
    starter = SimulatedStarter(SLOW_BCAST)
    rounds = rounds_of(lab, starter)
    found = race(rounds, [violated("MPI_Bcast", size) for size in (64, 4096)])
    assert [_algorithm(one) for one in found] == ["chain"]
    before = len(starter.launches)
    reserves = rounds.seconds.reserves(found)
    assert [(_algorithm(one), one.bytes_to) for one in reserves] == [
        ("binomial", 128),
        ("binomial", 4096),
    ]
    rounds.seconds.keep(reserves, reserves[:1], found)
    second = rounds.seconds.instead(found, [], lambda *_: {})
    assert second == reserves[:1]
    assert rounds.seconds.instead(second, [], lambda *_: {}) == []
    assert len(starter.launches) == before


def test_pieces_keep_the_outer_ends() -> None:
    whole = winner(4, 100, removes=["GL1@8", "GL2@32", "GL1@64"])
    cells = {Target("MPI_Allreduce", size) for size in (8, 64)}
    first, last = pieces_inside(whole, cells, [8, 32, 64, 128])
    assert (first.bytes_from, first.bytes_to, first.removes) == (4, 8, ["GL1@8"])
    assert (last.bytes_from, last.bytes_to, last.removes) == (64, 100, ["GL1@64"])
    assert pieces_inside(whole, {*cells, Target("MPI_Allreduce", 32)}, [8, 32, 64]) == [whole]
    assert pieces_inside(whole, set(), [8, 32, 64]) == []


def test_a_neighbour_races_along_and_has_a_winner_where_it_needs_one(lab: Lab) -> None:
    """64 B takes nine tenths of what 4 KiB takes, which is too slow by half."""
    table = [
        msgspec.structs.replace(violated("MPI_Bcast", 4096), ratio=2.0),
        msgspec.structs.replace(
            violated("MPI_Bcast", 64, "monotony"),
            guideline="GL1",
            other_bytes=4096,
            ratio=0.9,
            verdict="holds",
        ),
    ]
    for gain, needed in ((0.2, True), (0.95, False)):
        costs = Costs(algorithm={("MPI_Bcast", "chain"): lambda *_, gain=gain: gain})  # type: ignore[misc]
        rounds = rounds_of(lab, SimulatedStarter(costs), f"{gain}")
        found = {(one.bytes_from, one.bytes_to): one.removes for one in race(rounds, table)}
        assert any(low <= 64 <= high for low, high in found) == needed, found
        assert any(low <= 4096 <= high for low, high in found)
        # Without a winner it may be searched for its own sake later.
        assert bool(rounds.fresh([violated("MPI_Bcast", 64)])) != needed


def test_all_cells_are_searched_those_that_are_violated_first(lab: Lab) -> None:
    settings = load(None, {"nprocs": 4, "blocks": 1, "reps": 2})
    store = lab.store(SimulatedStarter(Costs()))
    sizes = {"MPI_Gather": [64], "MPI_Bcast": [64, 4096]}
    rounds = rounds_for(store, sizes, settings)
    table = [violated("MPI_Bcast", 64)]
    assert rounds.fresh(table) == [Target("MPI_Bcast", 64)]
    race(rounds, table)
    others = [Target("MPI_Bcast", 4096), Target("MPI_Gather", 64)]
    assert rounds.fresh(table) == rounds.unsearched(table) == others
    race(rounds, table, 2)
    assert rounds.fresh(table) == rounds.unsearched(table) == []
    found = {(one.function, one.bytes): one for one in lab.searches()}
    assert found["MPI_Gather", 64].opened_by == [] and found["MPI_Gather", 64].bound == ""
    assert found["MPI_Bcast", 64].opened_by == ["GL12@64"]


def test_where_cases_are_cheap_all_cells_race_at_once(lab: Lab) -> None:
    """They share the launches that a few cells need anyway."""
    settings = load(None, {"simulate": "ompi", "nprocs": 4})
    sizes = {"MPI_Gather": [64], "MPI_Bcast": [64, 4096]}
    rounds = rounds_for(lab.store(SimulatedStarter(Costs())), sizes, settings)
    assert len(rounds.fresh([violated("MPI_Bcast", 64)])) == 3


def test_what_holds_is_not_searched(rounds: Rounds) -> None:
    near = {"verdict": "undecided", "ratio": 1.04}
    table = [build.verdict("before", verdict="holds"), build.verdict("before", **near)]
    assert rounds.fresh(table) == rounds.stuck(table) == []


def test_a_left_side_that_is_no_plain_call_is_not_searched(rounds: Rounds) -> None:
    """Nothing that stands in for the call makes another variant faster, or fewer ranks."""
    plain = violated("MPI_Bcast", 64)
    table = [
        msgspec.structs.replace(plain, lhs="bcast_as_ibcast_plus_wait"),
        msgspec.structs.replace(plain, kind="rank", ranks=2),
    ]
    assert rounds.fresh(table) == []
    assert rounds.fresh([*table, plain]) == [Target("MPI_Bcast", 64)]


def test_mockups_race_where_their_guideline_does_not_hold() -> None:
    """What the table has found not to be faster need not race; nor do ours in a cell that is there
    for the sake of one choice for all sizes."""
    target, beside = Target("MPI_Gather", 64), Target("MPI_Gather", 4096)
    mockups = {"gather_as_allgather", "gather_as_reduce"}
    assert candidate_space().mockups("MPI_Gather") == mockups
    for word, racing in (("violated", True), ("undecided", True), ("holds", False)):
        table = [
            build.verdict(
                "before", function="MPI_Gather", bytes=64, rhs="gather_as_reduce", verdict=word
            )
        ]
        found = idle(candidate_space(), [target], [target, beside], table)
        assert ("gather_as_reduce" not in found[target]) == racing
        assert "gather_as_allgather" in found[target] and "gather_binomial" not in found[target]
        assert found[beside] == {"gather_binomial", *mockups}
