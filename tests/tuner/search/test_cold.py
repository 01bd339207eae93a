"""Cold launches on a simulated library: few launches, the right ratios, and who is to blame."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as quickly
from hypothesis import strategies as st

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore
from plumbline.search.race.cold_launches import Company, settings_of
from plumbline.search.race.effort import ONE_LAUNCH, Effort
from plumbline.search.race.entering import Lineup
from plumbline.search.race.evidence import Evidence
from plumbline.search.race.launching import Past
from plumbline.search.space.candidates import Candidate
from plumbline_db.records import Suite, Trial
from tests.tuner.cold_machine import ColdStarter, candidate_space, forced
from tests.tuner.lab import Lab
from tests.tuner.search.racing import EVERY, race_in, winners_of
from tests.tuner.simulated import Costs, Interrupted

EFFORT = Effort()
BCAST = Target("MPI_Bcast", 65536)
REDUCE = Target("MPI_Reduce", 4096)
SCAN = Target("MPI_Scan", 64)
THREE = (BCAST, REDUCE, SCAN)
COMPANY = Company(candidate_space())


def candidates(function: str) -> list[Candidate]:
    return [one for one in candidate_space().first(function) if one.is_knobs]


MOST = max(len(candidates(one.function)) for one in THREE)


def race(
    lab: Lab, starter: ColdStarter, *targets: Target, effort: Effort = EFFORT, refine: bool = False
) -> dict[Target, list[Trial]]:
    store = lab.store(starter)
    return race_in(store, effort).run(Lineup(targets), refine=refine)


def by(trials: list[Trial], value: str) -> Trial:
    (found,) = [one for one in trials if value in (*one.knobs.values(), one.variant)]
    return found


def exact(costs: Costs, **more: Any) -> ColdStarter:
    return ColdStarter(costs, launch_noise=0.0, case_noise=0.0, sample_noise=0.0, **more)


# --- settings -----------------------------------------------------------------------------------

NAMES = st.sampled_from(["f", "g", "h"])
KNOBS = st.dictionaries(st.sampled_from(["shared", "own"]), st.sampled_from("12"), min_size=1)
ENTRIES = st.dictionaries(
    st.builds(Target, NAMES, st.integers(1, 3)),
    st.lists(
        KNOBS.map(lambda one: Candidate(configuration=Configuration.of(one))),
        max_size=4,
        unique=True,
    ),
    max_size=6,
)


@given(ENTRIES)
def test_settings_hold_every_candidate_once_and_one_of_a_function(
    entries: Mapping[Target, list[Candidate]],
) -> None:
    found = settings_of(entries, COMPANY)
    placed = [(cell, chosen[cell.function]) for chosen, cells in found for cell in cells]
    assert sorted(placed) == sorted((cell, one) for cell, those in entries.items() for one in those)
    for chosen, _ in found:
        for left, right in itertools.combinations(chosen.values(), 2):
            both = left.configuration.as_dict() | right.configuration.as_dict()
            assert both == right.configuration.as_dict() | left.configuration.as_dict()


def test_a_heat_takes_the_most_candidates_of_a_function_not_the_sum(lab: Lab) -> None:
    near = {
        (one.function, c.configuration[k]): lambda *_: 1.01
        for one in THREE
        for c in candidates(one.function)
        for k, _ in c.configuration.values[:1]
    }
    race(lab, ColdStarter(Costs(algorithm=near)), *THREE)
    launched = lab.runs()
    # They take turns with the library as it is; one candidate was in a launch alone besides.
    plain = [number for number, one in enumerate(launched) if not one.environment]
    assert plain[:2] == [0, 2 + MOST]
    assert max(len(forced(one.environment)) for one in launched) == len(THREE)


# --- ratios -------------------------------------------------------------------------------------


def test_what_launches_differ_by_is_taken_off(lab: Lab) -> None:
    """Launches that differ by a factor of two do not blur ratios."""
    costs = Costs(algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.7})
    starter = ColdStarter(costs, launch_noise=0.7, case_noise=0.005)
    found = race(lab, starter, BCAST)
    best = by(found[BCAST], "binomial")
    assert best.ratio == pytest.approx(0.7, rel=0.03)
    assert best.ratio_high is not None and best.ratio_high < 0.75
    assert best.launches == EFFORT.claims.launches[0]
    assert by(found[BCAST], "chain").ratio == pytest.approx(1.2, rel=0.03)


def test_launches_of_a_look_repeat_calls_as_often(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cold candidates are compared with the library as it is, in a launch with more cases."""

    def filled(_: LaunchStore, suite: Suite, plan: Plan) -> Plan:
        return msgspec.structs.replace(plan, reps=1000 // len(plan.cases))

    monkeypatch.setattr(LaunchStore, "filled", filled)
    race(lab, ColdStarter(Costs()), *THREE)
    looks: dict[str, set[str]] = {}
    for run in lab.runs():
        look = run.suite.partition("-look-")[2].partition("-")[0]
        looks.setdefault(look, set()).update(_reps(run.plan))
    assert len(looks) > 1 and all(len(reps) == 1 for reps in looks.values()), looks


def _reps(plan: str) -> set[str]:
    return {word for word in plan.split() if word.startswith("reps=")}


def test_a_machine_that_repeats_itself_is_asked_once(lab: Lab) -> None:
    costs = Costs(algorithm={("MPI_Reduce", "rabenseifner"): lambda *_: 0.5})
    found = race(lab, exact(costs), *THREE, effort=EVERY)
    assert by(found[REDUCE], "rabenseifner").ratio == pytest.approx(0.5, rel=0.02)
    cold = [one for one in lab.runs() if one.environment]
    assert len(cold) == MOST + 1  # one candidate alone besides


def test_a_spent_budget_ends_the_cold_launches_of_such_a_machine(lab: Lab) -> None:
    costs = Costs(algorithm={("MPI_Reduce", "rabenseifner"): lambda *_: 0.5})
    store = lab.store(exact(costs))
    spent = race_in(store, msgspec.structs.replace(EVERY, has_time=lambda: False))
    spent.run(Lineup(THREE), refine=False)
    assert not [one for one in lab.runs() if one.environment]
    for target in THREE:
        assert "the budget was used up before" in spent.reasons[target]


# No two of them, nor two products of two, are as good as equal.
FACTORS = [0.31, 0.37, 0.44, 0.53, 0.61, 0.72, 0.83, 0.94, 1.0, 1.3]
TWO = ("MPI_Bcast", "MPI_Gather")
ALGORITHMS = [
    (name, one.configuration[f"coll_tuned_{name.removeprefix('MPI_').lower()}_algorithm"])
    for name in TWO
    for one in candidates(name)
]
PLANTED = st.lists(
    st.tuples(st.sampled_from(ALGORITHMS), st.sampled_from([64, 4096]), st.sampled_from(FACTORS)),
    unique_by=(lambda one: one[:2], lambda one: one[2]),
)


@given(PLANTED)
@quickly(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_winners_are_those_of_an_exhaustive_comparison(
    fresh_lab: Any, places: list[tuple[tuple[str, str], int, float]]
) -> None:
    """Each candidate of each cell alone, by the cost function itself."""
    planted = {(name, size): factor for name, size, factor in places}
    costs = Costs()
    for algorithm in {name for name, _ in planted}:

        def factor(size: int, _: Mapping[str, str], name: tuple[str, str] = algorithm) -> float:
            return planted.get((name, size), 1.2)

        costs.algorithm[algorithm] = factor
    targets = [Target(name, size) for name in TWO for size in (64, 4096)]
    effort = msgspec.structs.replace(EVERY, front=99)
    with fresh_lab() as lab:
        trials = race(lab, exact(costs), *targets, effort=effort)
    opened = {one: ["GL1"] for one in targets}
    found = winners_of(trials, opened, candidate_space())
    by_hand = {
        target: [
            Trial(
                variant="default",
                knobs=one.configuration.as_dict(),
                state="measured",
                ratio=(ratio := _ratio(costs, target, one)),
                ratio_low=ratio * 0.999,
                ratio_high=ratio * 1.001,
                launches=1,
                detail="",
            )
            for one in sorted(candidates(target.function))
        ]
        for target in targets
    }
    wanted = winners_of(by_hand, opened, candidate_space())

    def short(winner: Any) -> tuple[Any, ...]:
        return (winner.function, winner.bytes_from, winner.bytes_to, winner.configuration)

    library = [one for one in found if one.variant == "default"]
    assert [short(one) for one in library] == [short(one) for one in wanted]


def _ratio(costs: Costs, target: Target, candidate: Candidate) -> float:
    def seconds(knobs: dict[str, str]) -> float:
        return costs.library(target.function, target.bytes, knobs)

    return seconds(candidate.configuration.as_dict()) / seconds({})


# --- parameters and fronts ------------------------------------------------------------------------


def test_parameters_of_cold_algorithms_are_searched(lab: Lab) -> None:
    def binomial(_: int, knobs: Mapping[str, str]) -> float:
        return 0.5 if knobs["coll_tuned_bcast_algorithm_segmentsize"] == "8192" else 0.8

    costs = Costs(algorithm={("MPI_Bcast", "binomial"): binomial})
    effort = msgspec.structs.replace(ONE_LAUNCH, batches=3)
    cells = [BCAST, Target("MPI_Bcast", 32768)]
    found = race(lab, exact(costs), *cells, effort=effort, refine=True)
    for cell in cells:
        best = min(found[cell], key=lambda one: one.ratio or 9)
        assert best.knobs["coll_tuned_bcast_algorithm_segmentsize"] == "8192"
    # Both cells are studied together: a batch has no more settings than a study has proposals.
    batch = {one.suite for one in lab.runs() if one.suite.startswith("search-1-look-02-cold")}
    assert 1 < len(batch) <= effort.proposals


def test_one_choice_for_all_sizes_is_measured_at_all(lab: Lab) -> None:
    sizes = [Target("MPI_Gather", size) for size in (64, 4096)]
    costs = Costs(
        algorithm={
            ("MPI_Gather", "binomial"): lambda size, _: 0.5 if size < 99 else 9.0,
            ("MPI_Gather", "linear_sync"): lambda size, _: 0.9 if size < 99 else 1.0,
        }
    )
    trials = race(lab, exact(costs), *sizes, effort=ONE_LAUNCH)
    opened = {sizes[0]: ["GL3@64"]}
    (found,) = winners_of(trials, opened, candidate_space())
    assert found.configuration["coll_tuned_gather_algorithm"] == "linear_sync"


def test_what_is_known_is_not_measured_again(lab: Lab) -> None:
    """A function that raced along needs no launch in its own round."""
    starter = exact(Costs(algorithm={("MPI_Reduce", "rabenseifner"): lambda *_: 0.5}))
    store = lab.store(starter)
    past = Past(Evidence(exact=True))
    first = race_in(store, ONE_LAUNCH, past=past)
    assert first.knows_more
    trials = first.run(Lineup([BCAST], along=[REDUCE]), refine=False)
    assert trials.keys() == {BCAST}
    launched = len(starter.launches)
    second = race_in(store, ONE_LAUNCH, 2, past)
    without = {REDUCE: candidate_space().mockups("MPI_Reduce")}
    found = second.run(Lineup([REDUCE], without=without), refine=False)
    assert len(starter.launches) == launched and second.suites == []
    assert by(found[REDUCE], "rabenseifner").ratio == pytest.approx(0.5, rel=0.02)


def test_sizes_that_must_not_get_slower_are_in_the_same_cold_launches(lab: Lab) -> None:
    wanted, beside = (Target("MPI_Gather", size) for size in (64, 4096))
    store = lab.store(exact(Costs()))
    race_in(store, EVERY).run(Lineup([wanted, beside], beside=[beside]), refine=False)
    assert len(lab.runs()) == 1 + len(candidates("MPI_Gather"))


@pytest.mark.parametrize("same", [True, False])
def test_an_option_that_a_variant_of_ours_shows_to_be_slow_gets_no_second_launch(
    lab: Lab, same: bool
) -> None:
    """gather_binomial sends what the library's binomial does. That both take the same is seen at
    the first size; where they do not, the option is measured at the next one too."""
    slow = {("MPI_Gather", "binomial"): lambda *_: 2.0 if same else 0.7}
    store = lab.store(exact(Costs(own={"gather_binomial": 2.0}, algorithm=slow)))
    past = Past(Evidence(exact=True))
    for number, size in enumerate((64, 4096), 1):
        cell = Target("MPI_Gather", size)
        before = len(lab.runs())
        race = race_in(store, ONE_LAUNCH, number, past)
        trials = race.run(Lineup([cell]), refine=False)[cell]
        out = {one.configuration["coll_tuned_gather_algorithm"] for _, one in race.passed_over}
        assert ("binomial" in out) is (same and number == 2) and "linear_sync" not in out
        launches = 1 + len(candidates("MPI_Gather")) - len(race.passed_over)
        assert len(lab.runs()) - before == launches
        tried = any("binomial" in one.knobs.values() for one in trials)
        assert tried is not ("binomial" in out)


# --- who is to blame ------------------------------------------------------------------------------


def test_who_aborts_a_launch_is_found_and_the_others_go_on(lab: Lab) -> None:
    """No case is under way: the launch never began."""
    starter = exact(Costs(), aborts=lambda values: "knomial" in values)
    found = race(lab, starter, *THREE, effort=EVERY)
    guilty = by(found[BCAST], "knomial")
    assert (guilty.state, guilty.ratio) == ("failed", None)
    assert "exit status 134" in guilty.detail
    for target in THREE:
        measured = {
            value
            for one in found[target]
            if one.state == "measured"
            for value in one.knobs.values()
        }
        for candidate in candidates(target.function):
            innocent = set(candidate.configuration.as_dict().values()) - {"0", "knomial"}
            assert innocent <= measured


def test_a_launch_that_fails_by_chance_costs_no_candidate(lab: Lab) -> None:
    """Every fourth one does, whatever is in force in it; one candidate is in it alone."""
    begun = itertools.count(1)
    starter = exact(Costs(), aborts=lambda values: bool(values) and next(begun) % 4 == 0)
    found = race(lab, starter, BCAST)
    assert [one for one in lab.runs() if not one.finished]
    assert {one.state for one in found[BCAST]} == {"measured"}


def test_one_that_never_begins_is_condemned_by_two(lab: Lab) -> None:
    starter = exact(Costs(), aborts=lambda values: "knomial" in values)
    found = race(lab, starter, BCAST)
    assert by(found[BCAST], "knomial").state == "failed"
    failed = [one for one in lab.runs() if not one.finished]
    assert len(failed) == 2


def test_the_case_under_way_is_out_and_the_other_sizes_are_not(lab: Lab) -> None:
    small = Target("MPI_Bcast", 64)

    def breaks(case: Any, values: set[str]) -> bool:
        return (case.function, case.bytes) == ("MPI_Bcast", 64) and "knomial" in values

    found = race(lab, exact(Costs(), breaks=breaks), small, *THREE, effort=ONE_LAUNCH)
    assert by(found[small], "knomial").state == "failed"
    assert by(found[BCAST], "knomial").state == "measured"
    assert all(one.state == "measured" for target in THREE for one in found[target])


def test_another_function_s_candidate_is_not_blamed_for_long(lab: Lab) -> None:
    """The case under way belongs to a function that the guilty one corrupts."""

    def breaks(case: Any, values: set[str]) -> bool:
        return case.function == "MPI_Reduce" and "chain" in values

    found = race(lab, exact(Costs(), breaks=breaks), *THREE, effort=ONE_LAUNCH)
    assert all(one.state == "measured" for target in THREE for one in found[target])
    assert [one for one in lab.runs() if not one.finished]


def test_a_wrong_result_is_seen_by_a_variant_of_ours(lab: Lab) -> None:
    """The library's own result checks nothing when all of its calls are under the candidate."""

    def lies(function: str, values: set[str]) -> bool:
        return function == "MPI_Bcast" and "knomial" in values

    found = race(lab, exact(Costs(), lies=lies), *THREE, effort=ONE_LAUNCH)
    trial = by(found[BCAST], "knomial")
    assert trial.state == "wrong" and "bcast_linear has another result" in trial.detail
    assert all(one.state == "measured" for one in found[REDUCE] + found[SCAN])


def beside_scan() -> str:
    """An algorithm of Bcast that is in force in launches with one of Scan."""
    shared = len(candidates("MPI_Scan")) - 1
    return candidates("MPI_Bcast")[shared].configuration["coll_tuned_bcast_algorithm"]


def test_who_corrupts_the_results_of_others_is_found(lab: Lab) -> None:
    guilty = beside_scan()

    def lies(function: str, values: set[str]) -> bool:
        return guilty in values and function in ("MPI_Bcast", "MPI_Scan")

    found = race(lab, exact(Costs(), lies=lies), BCAST, SCAN, effort=ONE_LAUNCH)
    assert by(found[BCAST], guilty).state == "wrong"
    assert all(one.state == "measured" for one in found[SCAN])


def test_whose_results_are_corrupted_is_not_blamed(lab: Lab) -> None:
    """Scan is wrong where Bcast has that algorithm in force, and Bcast is right."""
    guilty = beside_scan()

    def lies(function: str, values: set[str]) -> bool:
        return guilty in values and function == "MPI_Scan"

    found = race(lab, exact(Costs(), lies=lies), BCAST, SCAN, effort=ONE_LAUNCH)
    assert all(one.state == "measured" for one in found[SCAN])
    assert [one for one in lab.runs() if one.suite.endswith("a")]


# --- replay ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [1, 4, 9, 17])
def test_an_interrupted_race_ends_as_it_would_have(lab: Lab, fresh_lab: Any, after: int) -> None:
    costs = Costs(algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.7})

    def starter(stop_after: int | None = None) -> ColdStarter:
        return ColdStarter(
            costs,
            aborts=lambda values: "knomial" in values,
            lies=lambda function, values: function == "MPI_Scan" and "linear" in values,
            stop_after=stop_after,
        )

    with pytest.raises(Interrupted):
        race(lab, starter(after), *THREE)
    found = race(lab, starter(), *THREE)
    with fresh_lab() as other:
        whole = race(other, starter(), *THREE)
    assert found == whole
