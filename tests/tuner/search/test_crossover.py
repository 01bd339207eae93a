"""Where choices change between measured sizes: which sizes are asked about, and what is found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.core.plan import Data
from plumbline.libraries.space import Space
from plumbline.search import crossover
from plumbline.search.crossover import MOST_LOOKS, SizeGrid
from plumbline.search.rounds import Around
from plumbline.search.space.candidates import Candidate
from plumbline.search.space.select import Selection
from plumbline_db.records import Trial, Winner
from tests.db import build
from tests.tuner.lab import Lab
from tests.tuner.search.racing import rounds_for
from tests.tuner.search.test_candidates import candidate_space
from tests.tuner.search.test_select import trial
from tests.tuner.simulated import SPACE, Costs, SimulatedStarter, installed_knobs

MENU = candidate_space()
ALLREDUCE = "MPI_Allreduce"
NPROCS = 4
SIZE = st.integers(1, 2**22)


# --- sizes between two sizes --------------------------------------------------------------------


@given(SIZE, SIZE, st.sampled_from([ALLREDUCE, "MPI_Allgather", "MPI_Allgatherv"]))
def test_asked_about_are_sizes_between_that_the_library_can_tell_apart(
    one: int, other: int, function: str
) -> None:
    low, high = sorted((one, other))
    grid = SizeGrid(NPROCS, Data("MPI_DOUBLE"))
    unit = grid.unit(function)
    assert unit == (8 if function == ALLREDUCE else 32)
    found = grid.between(function, low, high)
    for size in found:
        assert size % unit == 0
        assert -(-low // unit) < size // unit < -(-high // unit)
    if not found:
        assert high <= math.sqrt(2) * (low + unit) + unit


@given(SIZE, SIZE)
def test_a_gap_of_any_width_is_closed_by_a_few_questions(one: int, other: int) -> None:
    low, high = sorted((one, other))
    grid = SizeGrid(NPROCS, Data("MPI_BYTE"))
    asked = 0
    steps = 2 * math.log2(max(2.0, high))
    while found := grid.between(ALLREDUCE, low, high):
        asked += 1
        low, high = max(pairwise([low, *found, high]), key=lambda gap: gap[1] / gap[0])
    assert asked <= 2 + math.log2(steps) / 2


def test_all_steps_at_once_where_launches_are_dear() -> None:
    grid = SizeGrid(NPROCS, Data("MPI_BYTE"), at_once=True)
    edges = [64, *grid.between(ALLREDUCE, 64, 1024), 1024]
    assert edges == [64, 91, 128, 181, 256, 362, 512, 724, 1024]
    assert not any(grid.between(ALLREDUCE, *gap) for gap in pairwise(edges))


@pytest.mark.parametrize(
    ("function", "low", "high", "expected"),
    [
        (ALLREDUCE, 16384, 65536, [32767, 32768]),
        (ALLREDUCE, 16384, 32768, [32767]),
        (ALLREDUCE, 32767, 65536, [32768]),
        (ALLREDUCE, 32767, 32768, []),
        (ALLREDUCE, 40000, 65536, [51200]),
        # A block of 32767 bytes for each rank.
        ("MPI_Allgather", 65536, 262144, [4 * 32767, 4 * 32768]),
        ("MPI_Allgather", 16384, 65536, [23172, 32768, 46340]),
    ],
)
def test_where_messages_go_another_way_both_sides_are_asked_about(
    function: str, low: int, high: int, expected: list[int]
) -> None:
    assert SizeGrid(NPROCS, Data("MPI_BYTE"), [32767]).between(function, low, high) == expected


def test_switches_are_as_the_library_reports_them() -> None:
    setting = SPACE.setting_of("btl_vader_eager_limit")
    assert setting is not None
    installed = installed_knobs()

    def known(word: str, **values: str) -> list[int]:
        marked = build_space(setting.knob, word)
        knobs = dict(installed)
        for knob, value in values.items():
            knobs[knob] = knobs[knob].__class__(knob, value, "int", True, {})
        return crossover.switches(marked, knobs)

    assert known("") == []
    assert known("above", btl_vader_eager_limit="8192") == [8192]
    assert known("from", btl_vader_eager_limit="8192") == [8191]
    assert known("above", btl_vader_eager_limit="0") == []


def build_space(knob: str, switch: str) -> Space:
    setting = [
        msgspec.structs.replace(one, switch=switch) if one.knob == knob else one
        for one in SPACE.setting
    ]
    return msgspec.structs.replace(SPACE, setting=setting)


# --- an exact library ---------------------------------------------------------------------------

Ratio = Callable[[int], float]


class Exact:
    """Candidates of Allreduce by name with their ratios at any size; every size of `table` is
    asked for. `looks`: the cells that each look measured."""

    def __init__(
        self, table: Sequence[int], ratios: Mapping[str, Ratio], wanted: Sequence[int] | None = None
    ) -> None:
        self.table = list(table)
        self.ratios = ratios
        self.opened = {Target(ALLREDUCE, size): ["GL12"] for size in wanted or table}
        self.looks: list[Mapping[Target, Sequence[Candidate]]] = []
        self.trials = {
            target: [self._trial(name, target.bytes) for name in ratios] for target in self.opened
        }

    def _trial(self, name: str, size: int) -> Trial:
        return trial(name, self.ratios[name](size), 0.0)

    def _measure(self, entries: Mapping[Target, Sequence[Candidate]]) -> dict[Target, list[Trial]]:
        self.looks.append(entries)
        return {
            target: [
                self._trial(one.configuration["coll_tuned_allreduce_algorithm"], target.bytes)
                for one in candidates
            ]
            for target, candidates in entries.items()
        }

    def winners(self, switches: Sequence[int] = ()) -> list[Winner]:
        grid = SizeGrid(NPROCS, Data("MPI_BYTE"), switches)
        selection = Selection(MENU, {ALLREDUCE: self.table}, NPROCS, NPROCS, tolerance=0.05)
        choose = partial(selection.choose, self.trials, self.opened)
        between = crossover.search(choose, self._measure, grid, lambda: True)
        found = selection.winners(self.trials, self.opened, between)
        for left, right in pairwise(found):
            assert left.bytes_to < right.bytes_from
        return found


def crossing(at: int) -> dict[str, Ratio]:
    """The one is better below `at`, the other from there on."""
    return {
        "rabenseifner": lambda size: 0.5 if size < at else 0.7,
        "basic_linear": lambda size: 0.8 if size < at else 0.6,
    }


@given(st.integers(1025, 65536))
def test_a_change_is_found_within_a_factor_of_two_roots(at: int) -> None:
    exact = Exact([1024, 65536], crossing(at))
    first, second = exact.winners()
    assert second.bytes_from == first.bytes_to + 1
    assert at / math.sqrt(2) < first.bytes_to + 1 < at * math.sqrt(2) + 1
    assert len(exact.looks) <= 4 and sum(map(len, exact.looks)) <= 6


@given(st.integers(2048, 46000))
def test_a_change_at_a_switch_is_found_to_the_byte(at: int) -> None:
    exact = Exact([1024, 65536], crossing(at))
    found = exact.winners(switches=[at - 1])
    assert [(one.bytes_from, one.bytes_to) for one in found] == [(1024, at - 1), (at, 65536)]


@given(st.integers(4097, 16384))
def test_where_a_choice_stops_being_faster_the_library_takes_over(at: int) -> None:
    """The neighbour has no violation, so that it was not searched."""
    fast = {"rabenseifner": lambda size: 0.5 if size < at else 1.1}
    exact = Exact([1024, 4096, 16384, 65536], fast, wanted=[4096])
    (found,) = exact.winners()
    assert at / math.sqrt(2) < found.bytes_to + 1 < at * math.sqrt(2) + 1
    assert found.bytes_from == 1024 + 1 or found.bytes_from <= 1448 + 1
    assert {target.bytes for look in exact.looks for target in look}.isdisjoint(exact.table)


def test_far_neighbours_with_one_answer_are_asked_about_too() -> None:
    everywhere = Exact([1024, 65536], {"rabenseifner": lambda _: 0.5})
    (found,) = everywhere.winners()
    assert (found.bytes_from, found.bytes_to) == (1024, 65536)
    assert len(everywhere.looks) == 1
    gap = Exact([1024, 65536], {"rabenseifner": lambda size: 2.0 if 5000 < size < 20000 else 0.5})
    low, high = gap.winners()
    assert low.bytes_to < 5000 * math.sqrt(2) and high.bytes_from > 20000 / math.sqrt(2)


def test_what_changes_nowhere_costs_nothing() -> None:
    exact = Exact([4096, 16384, 65536], {"rabenseifner": lambda _: 0.5})
    assert len(exact.winners()) == 1
    assert exact.looks == []


def test_the_cost_is_bounded() -> None:
    """Also where every size that is asked about answers otherwise than its neighbours."""
    noise = {
        "rabenseifner": lambda size: 0.5 + size * 7919 % 97 / 300,
        "basic_linear": lambda size: 0.5 + size * 104729 % 89 / 300,
    }
    table = [2**power for power in range(0, 22, 3)]
    exact = Exact(table, noise)
    exact.winners()
    assert len(exact.looks) <= MOST_LOOKS
    assert sum(map(len, exact.looks)) <= (len(table) - 1) * (2**MOST_LOOKS - 1)


# --- on the simulated library -------------------------------------------------------------------


def test_a_round_of_search_finds_where_its_winners_end(lab: Lab) -> None:
    """Of Bcast, which the default is slow in from 4 KiB on, in launches that are stored: asked
    again, the round takes them from there and comes to the same winners."""
    costs = Costs(
        default={"MPI_Bcast": lambda size: 2.0 if size >= 4096 else 1.0},
        algorithm={
            ("MPI_Bcast", "binomial"): lambda size, _: 1.0 if size < 30000 else 1.8,
            ("MPI_Bcast", "pipeline"): lambda size, _: 1.8 if size < 30000 else 1.0,
        },
        own={"bcast_as_scatter_plus_allgather": 5.0},
    )
    sizes = {"MPI_Bcast": [1024, 8192, 65536]}
    verdicts = [
        build.verdict("before", function="MPI_Bcast", bytes=size, kind="pattern")
        for size in (8192, 65536)
    ]
    found = []
    around = SPACE.hot_environment
    for starter in (SimulatedStarter(costs), SimulatedStarter(costs)):
        rounds = rounds_for(lab.store(starter), sizes)
        found.append(
            rounds.first(Around(1, around, [], lambda *_: around), verdicts, refine=lambda: False)
        )
        again = starter.launches
    assert found[0] == found[1] and again == []
    first, second = found[0]
    assert [one.configuration["coll_tuned_bcast_algorithm"] for one in found[0]] == [
        "binomial",
        "pipeline",
    ]
    assert 4096 / math.sqrt(2) < first.bytes_from < 4096 * math.sqrt(2)
    assert second.bytes_from == first.bytes_to + 1
    assert 30000 / math.sqrt(2) < second.bytes_from < 30000 * math.sqrt(2)
    asked = [one for one in lab.searches() if not one.opened_by]
    assert asked and all(one.bytes not in sizes["MPI_Bcast"] for one in asked)
