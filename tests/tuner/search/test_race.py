"""Races on the simulated library: who enters which look, and what becomes of those that fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.libraries.space import Algorithm, FunctionSpace
from plumbline.measure.comparison import Arm
from plumbline.search.race.effort import Effort
from plumbline.search.race.entering import Lineup
from plumbline.search.race.judging import ViolationBound
from plumbline.search.race.race import Race
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace, index
from plumbline_db.records import UNBOUNDED_BYTES, Case, Medians, Suite, Trial
from plumbline_exporters import by_size
from tests.tuner.lab import Lab
from tests.tuner.search.racing import PLAN, winners_of
from tests.tuner.search.test_candidates import candidate_space
from tests.tuner.simulated import SPACE, Costs, Rules, SimulatedStarter, parse, with_variants

EFFORT = Effort()
LOOK_1, LOOK_2 = "search-1", "search-1-look-02"
BCAST = Target("MPI_Bcast", 65536)


def good_segments(best: str) -> Costs:
    """Binomial and chain are in front; one segment size of binomial is better than all else."""

    def binomial(_: int, knobs: Mapping[str, str]) -> float:
        return 0.5 if knobs["coll_tuned_bcast_algorithm_segmentsize"] == best else 0.8

    return Costs(
        algorithm={
            ("MPI_Bcast", "binomial"): binomial,
            ("MPI_Bcast", "chain"): lambda *_: 0.85,
            ("MPI_Bcast", "pipeline"): lambda *_: 2.0,
        },
        own={},
    )


class Ran:
    """A race that was run, with all that it left behind; `more`: what else a lineup has."""

    def __init__(
        self,
        lab: Lab,
        starter: SimulatedStarter,
        *targets: Target,
        number: int = 1,
        uses: tuple[str, ...] = (),
        refine: bool = True,
        **more: Any,
    ) -> None:
        arm = Arm(Suite("search", number), PLAN, SPACE.hot_environment)
        effort = msgspec.structs.replace(EFFORT, uses=uses)
        self.race = Race(lab.store(starter), candidate_space(), arm, effort)
        self.trials = self.race.run(Lineup(targets, **more), refine=refine)
        self.runs = lab.runs()

    def entered(self, suite: str) -> set[tuple[Target, Candidate, str]]:
        text = next(one.plan for one in self.runs if one.suite == suite)
        _, configs, cases = parse(text)
        return {
            (
                Target(case.function, case.bytes),
                Candidate(case.variant, Configuration.of(configs.get(case.config, {}))),
                case.config,
            )
            for case in cases
        }


def test_what_is_much_slower_in_another_way_of_use_does_not_win(lab: Lab) -> None:
    costs = good_segments("8192")
    costs.where["binomial", "stream"] = 3.0
    races = []
    for number, uses in enumerate(((), ("loop", "stream")), 1):
        ran = Ran(lab, SimulatedStarter(costs), BCAST, number=number, uses=uses, refine=False)
        trials = ran.trials[BCAST]
        races.append((by(trials, "binomial"), min(trials, key=lambda trial: trial.ratio or 9)))
    (blind, best), (seen, second) = races
    assert {trial.state for trial in blind} == {"measured"} and best in blind
    assert {trial.state for trial in seen} == {"slower"}
    assert seen[0].detail.startswith("stream: ") and seen[0].detail.endswith("in 2 launches")
    assert by([second], "chain")


def by(trials: list[Trial], value: str) -> list[Trial]:
    return [one for one in trials if value in (*one.knobs.values(), one.variant)]


def test_every_look_has_the_default_and_a_duplicate(lab: Lab) -> None:
    ran = Ran(lab, SimulatedStarter(good_segments("8192")), BCAST)
    suites = [one.suite for one in ran.runs]
    expected = [Suite("search", 1, look=n + 1).name for n in range(len(suites))]
    assert suites == ran.race.suites == expected
    for suite in suites:
        entered = ran.entered(suite)
        assert (BCAST, DEFAULT, "default") in entered
        assert (BCAST, DEFAULT, "plain") in entered
    assert all(one.environment == SPACE.hot_environment for one in ran.runs)


def test_the_first_look_holds_the_whole_menu(lab: Lab) -> None:
    targets = (BCAST, Target("MPI_Scan", 64))
    ran = Ran(lab, SimulatedStarter(Costs()), *targets)
    entered = {(one, candidate) for one, candidate, _ in ran.entered(LOOK_1)}
    wanted = {
        (one, candidate)
        for one in targets
        for candidate in [DEFAULT, *candidate_space().first(one.function)]
    }
    middles = {
        (one, candidate_space().centre(one.function, candidate, one.bytes))
        for one, candidate in wanted
        if candidate != DEFAULT
    }
    assert entered == wanted | middles


def test_parameters_are_searched_for_those_in_front(lab: Lab) -> None:
    ran = Ran(lab, SimulatedStarter(good_segments("8192")), BCAST)
    first = {candidate for _, candidate, _ in ran.entered(LOOK_1)}
    proposed = {candidate for _, candidate, _ in ran.entered(LOOK_2)} - first
    names = {one.configuration["coll_tuned_bcast_algorithm"] for one in proposed}
    assert names <= {"binomial", "chain"} and len(proposed) == EFFORT.proposals
    for suite in ran.race.suites[1:]:
        racing = {candidate for _, candidate, _ in ran.entered(suite)} - {DEFAULT}
        assert not any("pipeline" in one.configuration.as_dict().values() for one in racing)
    measured = [one for one in ran.trials[BCAST] if one.state == "measured"]
    assert len(measured) > len(candidate_space().first("MPI_Bcast"))
    best = min(measured, key=lambda one: one.ratio or 9)
    assert best.knobs["coll_tuned_bcast_algorithm_segmentsize"] == "8192"


def test_without_refining_no_parameters_are_searched(lab: Lab) -> None:
    ran = Ran(lab, SimulatedStarter(good_segments("8192")), BCAST, refine=False)
    first = {candidate for _, candidate, _ in ran.entered(LOOK_1)}
    for suite in ran.race.suites:
        assert {candidate for _, candidate, _ in ran.entered(suite)} <= first
    assert len(ran.runs) == EFFORT.claims.launches[0]


def test_ratios_are_paired_by_launch(lab: Lab) -> None:
    """Launches that differ by a factor of three do not blur them."""
    starter = SimulatedStarter(good_segments("0"), launch_noise=1.0, case_noise=0.005)
    ran = Ran(lab, starter, BCAST)
    (chain,) = by(ran.trials[BCAST], "chain")[:1]
    best = min((one for one in ran.trials[BCAST] if one.ratio), key=lambda one: one.ratio or 9)
    assert best.ratio == pytest.approx(0.5, rel=0.02)
    assert best.ratio_low is not None and best.ratio_high is not None
    assert best.ratio_low <= 0.5 * 1.01 and best.ratio_high >= 0.5 * 0.99
    assert best.launches >= EFFORT.claims.launches[0]
    assert chain.ratio == pytest.approx(0.85, rel=0.02)


def test_what_is_surely_behind_is_measured_once_and_the_best_to_the_end(lab: Lab) -> None:
    """Launches go where they decide something."""
    costs = Costs(algorithm={("MPI_Reduce", "linear"): lambda *_: 0.5})
    target = Target("MPI_Reduce", 4096)
    ran = Ran(lab, SimulatedStarter(costs), target, refine=False)
    launches = {tuple(one.knobs.values()): one.launches for one in ran.trials[target]}
    best = next(count for values, count in launches.items() if "linear" in values)
    assert best == len(ran.runs) == EFFORT.claims.launches[0]
    assert sorted(launches.values()) == [1] * (len(launches) - 1) + [best]


def test_a_cell_where_nothing_is_better_ends_at_once(lab: Lab) -> None:
    ran = Ran(lab, SimulatedStarter(Costs()), BCAST, refine=False)
    assert len(ran.runs) == 1
    assert ran.race.reasons == {BCAST: "nothing that may be tried is faster than the default"}


def test_near_ties_are_not_measured_for_ever(lab: Lab) -> None:
    """Two algorithms half a per cent apart: neither is worth many launches."""
    costs = Costs(
        algorithm={
            ("MPI_Reduce", "linear"): lambda *_: 0.5,
            ("MPI_Reduce", "rabenseifner"): lambda *_: 0.5025,
        }
    )
    target = Target("MPI_Reduce", 4096)
    ran = Ran(lab, SimulatedStarter(costs, case_noise=0.02), target, refine=False)
    assert len(ran.runs) <= EFFORT.claims.launches[-1]
    assert min(one.ratio or 9 for one in ran.trials[target]) == pytest.approx(0.5, rel=0.05)


def test_where_no_violation_is_removed_a_small_gain_is_not_looked_for(lab: Lab) -> None:
    """One algorithm gains 3 %: where a guideline is violated, the race goes on until that is clear;
    elsewhere it is of no use."""
    costs = Costs(algorithm={("MPI_Reduce", "linear"): lambda *_: 0.97})
    target = Target("MPI_Reduce", 4096)
    starter = SimulatedStarter(costs, case_noise=0.03)
    there = len(Ran(lab, starter, target, refine=False, named={target}).runs)
    elsewhere = Ran(lab, starter, target, refine=False, named=set(), number=2)
    assert len(elsewhere.runs) - there < there


def test_the_bound_is_measured_beside_the_candidates(lab: Lab) -> None:
    """Bcast of 4 KiB must not be slower than Bcast of 64 KiB, which is fast here."""
    costs = Costs(
        default={"MPI_Bcast": lambda size: 0.02 if size > 4096 else 1.0},
        algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.5},
    )
    target = Target("MPI_Bcast", 4096)
    bound = ViolationBound("GL1@4096", BCAST)
    ran = Ran(lab, SimulatedStarter(costs), target, refine=False, bounds={target: bound})
    wanted = 0.02 * (1 + 65536 / 2000) / (1 + 4096 / 2000)
    assert ran.race.bound_ratio(target) == pytest.approx(wanted, rel=0.03)
    assert "the bound is not reached (2." in ran.race.reasons[target]
    for one in ran.runs:
        _, _, cases = parse(one.plan)
        assert ("default", 65536) in {(case.config, case.bytes) for case in cases}


def test_a_bound_that_holds_ends_the_race(lab: Lab) -> None:
    costs = Costs(
        default={"MPI_Reduce": lambda _: 3.0}, algorithm={("MPI_Reduce", "linear"): lambda *_: 0.9}
    )
    target = Target("MPI_Reduce", 4096)
    bound = ViolationBound("GL13@4096", target, Candidate("reduce_as_allreduce"))
    ran = Ran(lab, SimulatedStarter(costs), target, refine=False, bounds={target: bound})
    assert ran.race.reasons[target].startswith("the bound holds (0.")
    assert f"in {EFFORT.claims.launches[0]} launches" in ran.race.reasons[target]


def test_sizes_between_others_start_from_what_these_found(lab: Lab) -> None:
    """Only the two algorithms that win at either end are measured in between."""
    costs = Costs(
        algorithm={
            ("MPI_Reduce", "linear"): lambda size, _: 0.5 if size <= 1024 else 0.8,
            ("MPI_Reduce", "rabenseifner"): lambda size, _: 0.8 if size <= 1024 else 0.5,
        }
    )
    sizes = [Target("MPI_Reduce", size) for size in (256, 1024, 4096)]
    ran = Ran(lab, SimulatedStarter(costs), *sizes)
    between = [one for one in ran.trials[sizes[1]] if one.state == "measured"]
    names = {value for one in between for value in one.knobs.values()}
    assert {"linear", "rabenseifner"} <= names
    assert len(between) < len(ran.trials[sizes[0]]) / 2
    best = min(between, key=lambda one: one.ratio or 9)
    assert "linear" in best.knobs.values() and best.ratio == pytest.approx(0.5, rel=0.03)


def test_one_choice_for_all_sizes_is_measured_at_the_others_when_it_helps(lab: Lab) -> None:
    """The best at the size that asks for it is slow elsewhere; the second best is not."""
    wanted, beside = (Target("MPI_Gather", size) for size in (64, 4096))
    costs = Costs(
        algorithm={
            ("MPI_Gather", "binomial"): lambda size, _: 0.5 if size < 99 else 9.0,
            ("MPI_Gather", "linear_sync"): lambda size, _: 0.8 if size < 99 else 1.0,
        }
    )
    trials = Ran(lab, SimulatedStarter(costs), wanted, beside, beside=[beside]).trials
    known = {value for one in trials[beside] for value in one.knobs.values()}
    assert {"binomial", "linear_sync"} <= known and "basic_linear" not in known
    opened = {wanted: ["GL3@64"]}
    (found,) = winners_of(trials, opened)
    assert found.configuration["coll_tuned_gather_algorithm"] == "linear_sync"


class Ranged(SimulatedStarter):
    """Of a knob that takes ranges: 3 is fast for small messages, 5 for large ones."""

    KNOB = "MV2_INTER_BCAST_TUNING"

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        del rules
        value = knobs.get(self.KNOB, "")
        if by_size.has_sizes(value):
            ranges = by_size.read(value)
            value = str(next(one.algorithm for one in reversed(ranges) if one.first <= size))
        fast = "3" if size <= 4096 else "5"
        return {"": 1.0, "1": 1.1, fast: 0.5}.get(value, 2.0) * (1 + size / 2000), "ok"


def test_one_value_with_ranges_races_in_the_form_that_is_exported(lab: Lab) -> None:
    """3 is best for small sizes, 5 for large ones, and each is slow at the others."""
    knob = "MV2_INTER_BCAST_TUNING"
    entry = FunctionSpace(
        name="MPI_Bcast",
        knob=knob,
        sizes="ranges",
        summary="",
        algorithms=[Algorithm(name=name, summary="") for name in ("1", "3", "5")],
    )
    space = msgspec.structs.replace(SPACE, function=[entry])
    sizes = [64, 1024, 16384, 65536]
    targets = [Target("MPI_Bcast", size) for size in sizes]
    offered = CandidateSpace(with_variants([], space), 4)
    race = Race(lab.store(Ranged(Costs())), offered, Arm(Suite("search", 1), PLAN), EFFORT)
    trials = race.run(Lineup(targets), refine=True)
    opened_by = {one: ["GL1"] for one in targets}
    (found,) = winners_of(trials, opened_by, offered)
    assert found.configuration == {knob: "3:0-4096,5:4097-+"}
    assert (found.bytes_from, found.bytes_to) == (0, UNBOUNDED_BYTES)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("wrong", "wrong"),
        ("unsupported", "unsupported"),
        ("error", "failed"),
        ("not_in_force", "not_in_force"),
    ],
)
def test_what_fails_its_check_is_out(lab: Lab, outcome: str, state: str) -> None:
    ours = "bcast_as_scatter_plus_allgather"
    starter = SimulatedStarter(
        good_segments("8192"), corrupt=lambda case: outcome if case.variant == ours else "ok"
    )
    ran = Ran(lab, starter, BCAST)
    (trial,) = by(ran.trials[BCAST], ours)
    assert (trial.state, trial.ratio, trial.launches) == (state, None, 0)
    assert trial.detail == "simulated"
    assert ours in {candidate.variant for _, candidate, _ in ran.entered(LOOK_1)}
    assert ours not in {candidate.variant for _, candidate, _ in ran.entered(LOOK_2)}


def test_what_crashes_launches_is_out_and_the_rest_goes_on(lab: Lab) -> None:
    starter = SimulatedStarter(Costs(), crashes=lambda _, knobs: "chain" in knobs.values())
    ran = Ran(lab, starter, BCAST)
    guilty = by(ran.trials[BCAST], "chain")
    assert {trial.state for trial in guilty} == {"failed"}
    assert all("it ends launches (SIGSEGV" in trial.detail for trial in guilty)
    failed = [one for one in ran.runs if not one.finished]
    assert len(failed) == 2 * len(guilty) == 4  # one may be chance
    others = [one for one in ran.trials[BCAST] if one not in guilty]
    assert len(others) >= 9 and all(one.state == "measured" for one in others)


def test_when_all_candidates_fail_there_is_no_second_look(lab: Lab) -> None:
    starter = SimulatedStarter(
        Costs(),
        corrupt=lambda case: (
            "ok" if (case.variant, case.config[0]) == ("default", "d") else "error"
        ),
    )
    ran = Ran(lab, starter, BCAST)
    assert ran.race.suites == [LOOK_1]
    assert {one.state for one in ran.trials[BCAST] if one.knobs or one.variant != "default"} == {
        "failed"
    }


def test_no_targets_no_launches(lab: Lab) -> None:
    ran = Ran(lab, SimulatedStarter(Costs(), stop_after=0))
    assert (ran.trials, ran.runs, ran.race.suites) == ({}, [], [])


def test_index_keeps_the_duplicate_and_the_library_apart() -> None:
    def medians(config: str, variant: str, knobs: dict[str, str], seconds: float) -> Medians:
        case = Case("MPI_Bcast", variant, knobs, config, 64, "MPI_BYTE", "MPI_BOR", 0)
        return Medians(case, [1, 2], [seconds, seconds])

    found = index(
        [
            medians("default", "default", {}, 1.0),
            medians("plain", "default", {}, 2.0),
            medians("default", "library", {}, 3.0),
            medians("c1", "default", {"b": "2", "a": "1"}, 4.0),
        ]
    )
    target = Target("MPI_Bcast", 64)
    assert found == {
        (target, DEFAULT): {1: 1.0, 2: 1.0},
        (target, Candidate(configuration=Configuration.of({"a": "1", "b": "2"}))): {1: 4.0, 2: 4.0},
    }
