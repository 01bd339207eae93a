"""Races on the simulated library: who enters which heat, and what becomes of those that fail."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from plumbline import tables
from plumbline.measure import Laboratory
from plumbline.search.candidates import DEFAULT, Candidate
from plumbline.search.race import Effort, Race, Target, index
from plumbline.settings import load
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.records import Campaign, Case, Medians, Trial
from tests.tuner.search.test_candidates import menu
from tests.tuner.simulated import SPACE, Costs, SimulatedStarter, parse

EFFORT = Effort()
BCAST = Target("MPI_Bcast", 65536)
PLAN = tables.plan(load(None, {"nprocs": 4, "blocks": 1, "reps": 2}), [])


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
    """A race that was run, with all that it left behind."""

    def __init__(
        self,
        db: Database,
        campaign: Campaign,
        starter: SimulatedStarter,
        *targets: Target,
        refine: bool = True,
    ) -> None:
        lab = Laboratory(db, campaign.id, starter)
        self.race = Race(lab, menu(), PLAN, SPACE.hot_environment, EFFORT, "search-1")
        self.trials = self.race.run(targets, refine=refine)
        self.runs = runs.listing(db, campaign.id)

    def entered(self, suite: str) -> set[tuple[Target, Candidate, str]]:
        text = next(one.plan for one in self.runs if one.suite == suite)
        _, configs, cases = parse(text)
        return {
            (
                Target(case.function, case.bytes),
                Candidate(case.variant, tuple(sorted(configs.get(case.config, {}).items()))),
                case.config,
            )
            for case in cases
        }


def by(trials: list[Trial], value: str) -> list[Trial]:
    return [one for one in trials if value in (*one.knobs.values(), one.variant)]


def test_heats_in_order_each_with_its_default_and_a_duplicate(
    db: Database, campaign: Campaign
) -> None:
    ran = Ran(db, campaign, SimulatedStarter(good_segments("8192")), BCAST)
    suites = list(dict.fromkeys(one.suite for one in ran.runs))
    assert suites == ran.race.suites
    assert suites[0] == "search-1-algorithms" and suites[-1] == "search-1-final"
    assert set(suites[1:-1]) <= {"search-1-parameters-1", "search-1-parameters-2"} and suites[1:-1]
    count = {suite: sum(one.suite == suite for one in ran.runs) for suite in suites}
    assert (count["search-1-algorithms"], count["search-1-final"]) == (3, 6)
    for suite in suites:
        entered = ran.entered(suite)
        assert (BCAST, DEFAULT, "default") in entered
        assert (BCAST, DEFAULT, "plain") in entered
    assert all(one.environment == SPACE.hot_environment for one in ran.runs)


def test_the_algorithms_heat_holds_the_whole_menu(db: Database, campaign: Campaign) -> None:
    targets = (BCAST, Target("MPI_Scan", 64))
    ran = Ran(db, campaign, SimulatedStarter(Costs()), *targets)
    entered = {(one, candidate) for one, candidate, _ in ran.entered("search-1-algorithms")}
    wanted = {
        (one, candidate) for one in targets for candidate in [DEFAULT, *menu().first(one.function)]
    }
    assert entered == wanted


def test_parameters_are_searched_for_those_in_front(db: Database, campaign: Campaign) -> None:
    ran = Ran(db, campaign, SimulatedStarter(good_segments("8192")), BCAST)
    first = {candidate for _, candidate, _ in ran.entered("search-1-parameters-1")} - {DEFAULT}
    names = {dict(one.knobs)["coll_tuned_bcast_algorithm"] for one in first}
    assert names <= {"binomial", "chain"} and len(first) == EFFORT.proposals
    final = {candidate for _, candidate, _ in ran.entered("search-1-final")} - {DEFAULT}
    assert len(final) <= EFFORT.front + 2
    assert not any("pipeline" in dict(one.knobs).values() for one in final)
    measured = [one for one in ran.trials[BCAST] if one.state == "measured"]
    assert len(measured) > len(menu().first("MPI_Bcast"))


def test_without_refining_there_are_no_parameter_heats(db: Database, campaign: Campaign) -> None:
    ran = Ran(db, campaign, SimulatedStarter(good_segments("8192")), BCAST, refine=False)
    assert ran.race.suites == ["search-1-algorithms", "search-1-final"]


def test_ratios_are_paired_by_launch(db: Database, campaign: Campaign) -> None:
    """Launches that differ by a factor of three do not blur them."""
    starter = SimulatedStarter(good_segments("0"), launch_noise=1.0, case_noise=0.005)
    ran = Ran(db, campaign, starter, BCAST)
    (chain,) = by(ran.trials[BCAST], "chain")[:1]
    best = min((one for one in ran.trials[BCAST] if one.ratio), key=lambda one: one.ratio or 9)
    assert best.ratio == pytest.approx(0.5, rel=0.02)
    assert best.ratio_low is not None and best.ratio_high is not None
    assert best.ratio_low <= 0.5 * 1.01 and best.ratio_high >= 0.5 * 0.99
    assert best.launches >= EFFORT.algorithms + EFFORT.final
    assert chain.ratio == pytest.approx(0.85, rel=0.02)


def test_a_knob_and_a_variant_both_reach_the_final(db: Database, campaign: Campaign) -> None:
    """Even when one kind fills all places in front."""
    fast = dict.fromkeys(("linear", "rabenseifner", "in-order_binary"), lambda *_: 0.5)
    costs = Costs(
        algorithm={("MPI_Reduce", name): factor for name, factor in fast.items()},
        own={"reduce_ring": 0.55},
    )
    target = Target("MPI_Reduce", 4096)
    ran = Ran(db, campaign, SimulatedStarter(costs), target, refine=False)
    final = {candidate.variant for _, candidate, _ in ran.entered("search-1-final")}
    assert "reduce_ring" in final


def test_where_one_choice_serves_all_sizes_all_algorithms_go_on(
    db: Database, campaign: Campaign
) -> None:
    sizes = [Target("MPI_Gather", size) for size in (64, 4096)]
    costs = Costs(algorithm={("MPI_Gather", "binomial"): lambda size, _: 0.5 if size < 99 else 9.0})
    ran = Ran(db, campaign, SimulatedStarter(costs), *sizes)
    knobs = {one for one in menu().first("MPI_Gather") if one.is_knobs}
    for target in sizes:
        final = {candidate for one, candidate, _ in ran.entered("search-1-final") if one == target}
        assert knobs <= final


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("wrong", "wrong"),
        ("unsupported", "unsupported"),
        ("error", "failed"),
        ("not_in_force", "not_in_force"),
    ],
)
def test_what_fails_its_check_is_out(
    db: Database, campaign: Campaign, outcome: str, state: str
) -> None:
    ours = "bcast_as_scatter_plus_allgather"
    starter = SimulatedStarter(
        Costs(), spoil=lambda case: outcome if case.variant == ours else "ok"
    )
    ran = Ran(db, campaign, starter, BCAST)
    (trial,) = by(ran.trials[BCAST], ours)
    assert (trial.state, trial.ratio, trial.launches) == (state, None, 0)
    assert trial.detail == "simulated"
    final = {candidate.variant for _, candidate, _ in ran.entered("search-1-final")}
    assert ours not in final


def test_what_crashes_launches_is_out_and_the_rest_goes_on(
    db: Database, campaign: Campaign
) -> None:
    starter = SimulatedStarter(Costs(), crashes=lambda _, knobs: "chain" in knobs.values())
    ran = Ran(db, campaign, starter, BCAST)
    (trial,) = by(ran.trials[BCAST], "chain")
    assert trial.state == "failed"
    assert "launch failed with this case under way" in trial.detail
    failed = [one for one in ran.runs if one.outcome == "failed"]
    assert len(failed) == 1
    others = [one for one in ran.trials[BCAST] if one is not trial]
    assert len(others) >= 9 and all(one.state == "measured" for one in others)


def test_when_all_candidates_fail_there_is_no_final(db: Database, campaign: Campaign) -> None:
    starter = SimulatedStarter(
        Costs(),
        spoil=lambda case: "ok" if (case.variant, case.config[0]) == ("default", "d") else "error",
    )
    ran = Ran(db, campaign, starter, BCAST)
    assert ran.race.suites == ["search-1-algorithms"]
    assert {one.state for one in ran.trials[BCAST] if one.knobs or one.variant != "default"} == {
        "failed"
    }


def test_no_targets_no_launches(db: Database, campaign: Campaign) -> None:
    ran = Ran(db, campaign, SimulatedStarter(Costs(), stop_after=0))
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
        (target, Candidate(knobs=(("a", "1"), ("b", "2")))): {1: 4.0, 2: 4.0},
    }
