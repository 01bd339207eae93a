"""What launches say of two candidates: paired by block, with an error that knows launches; what is
said about a search."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import msgspec
import numpy as np
import pytest

from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.search.race.effort import Effort
from plumbline.search.race.evidence import Evidence, Lead, expected_gain, spread_of, together
from plumbline.search.race.judging import Decision, Judge
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline_db.records import Case, Medians
from plumbline_db.runs import LaunchSamples

CELL = Target("MPI_Bcast", 64)
OURS = Candidate("bcast_tree")


def case(variant: str) -> Case:
    return Case("MPI_Bcast", variant, {}, "default", 64, "MPI_BYTE", "MPI_BOR", 0)


def samples(variant: str, *launches: list[float]) -> LaunchSamples:
    numbers = list(range(1, len(launches) + 1))
    return LaunchSamples(
        case(variant), numbers, [np.array(one, dtype=np.int64) for one in launches]
    )


def drawn(seed: int, launches: int, ratio: float, between: float) -> Evidence:
    """Blocks of a launch drift together, and launches differ in their ratio."""
    chance = random.Random(seed)
    default, ours = [], []
    for _ in range(launches):
        drift = [chance.gauss(0, 0.5) for _ in range(6)]
        own = chance.gauss(0, between)
        for times, log in ((default, 0.0), (ours, math.log(ratio) + own)):
            times.append(
                [
                    1e6 * math.exp(block + log + chance.gauss(0, 0.01))
                    for block in drift
                    for _ in range(4)
                ]
            )
    found = Evidence(exact=False, spread=between)
    found.add([samples("default", *default), samples("bcast_tree", *ours)], blocks=6)
    return found


def test_drift_inside_a_launch_cancels() -> None:
    """Blocks that differ by half leave a ratio that is known to a few per cent."""
    lead = drawn(1, 1, 1.1, 0.02).lead(CELL, OURS)
    assert lead is not None and lead.launches == 1
    assert lead.log == pytest.approx(math.log(1.1), abs=0.05)
    assert 0.02 <= lead.error < 0.05


def test_a_case_that_ended_early_is_compared_with_the_blocks_beside_it() -> None:
    """The other one goes on for seven blocks, in which all messages take twice as long."""
    early = [100.0, 101.0, 99.0, 100.0] * 5
    later = [125.0, 124.0, 126.0, 125.0] * 5 + [250.0] * 28
    found = Evidence(exact=False, spread=0.02)
    found.add([samples("default", later), samples("bcast_tree", early)], blocks=12, reps=4)
    lead = found.lead(CELL, OURS)
    assert lead is not None and lead.log == pytest.approx(math.log(0.8), abs=0.01)


def test_more_launches_are_surer_and_errors_are_honest() -> None:
    """Over many races the truth lies within two errors in nearly all."""
    within = 0
    for seed in range(80):
        lead = drawn(seed, 4, 1.1, 0.04).lead(CELL, OURS)
        assert lead is not None
        within += abs(lead.log - math.log(1.1)) <= 2 * lead.error
    assert within >= 64
    one, four = (drawn(7, count, 1.1, 0.04).lead(CELL, OURS) for count in (1, 4))
    assert one is not None and four is not None and four.error < one.error


def test_a_launch_beside_other_work_drops_nobody_alone() -> None:
    """It counts, and weighs less: with quiet launches beside it, the candidate is dropped."""
    effort = Effort()
    slower = [[1e6] * 6, [1.3e6] * 6]

    def lead(disturbed: bool, more: int) -> Lead:
        found = Evidence(exact=False, spread=0.02)
        for run in range(1 + more):
            cases = zip(("default", "bcast_tree"), slower, strict=True)
            one = [LaunchSamples(case(name), [run], [np.array(ns)]) for name, ns in cases]
            found.add(one, blocks=6, disturbed=disturbed and run == 0)
        known = found.lead(CELL, OURS)
        assert known is not None
        return known

    deviations = effort.deviations(4)
    assert lead(disturbed=False, more=0).surely_above(0, deviations)
    assert not lead(disturbed=True, more=0).surely_above(0, deviations)
    assert lead(disturbed=True, more=2).surely_above(0, deviations)
    assert lead(disturbed=True, more=2).error > lead(disturbed=False, more=2).error


def test_a_launch_with_another_default_than_usual_drops_nobody_alone() -> None:
    """The machine is in another mood in it: there the candidate is slower, as a rule it is not."""
    deviations = Effort().deviations(4)
    for usual_ns, dropped in ((2.7e3, False), (3.9e3, True)):
        usual = {CELL: math.log(usual_ns * 1e-9)}
        found = Evidence(exact=False, spread=0.02, usual=usual)
        for name, ns in (("default", 3.9e3), ("bcast_tree", 1.4 * 3.9e3)):
            samples = LaunchSamples(case(name), [0], [np.array([ns] * 6)])
            found.add([samples], blocks=6)
        lead = found.lead(CELL, OURS)
        assert lead is not None and lead.surely_above(0, deviations) == dropped


def test_equal_candidates_are_hardly_ever_dropped() -> None:
    """At any of the looks of a race, as the effort spends its error."""
    effort = Effort()
    dropped = sum(
        any(
            (lead := drawn(seed, launches, 1.0, 0.04).lead(CELL, OURS)) is not None
            and lead.surely_above(0, effort.deviations(1))
            for launches in (1, 3, 6)
        )
        for seed in range(60)
    )
    assert dropped <= effort.alpha * 60


def test_the_best_is_dropped_no_more_often_than_is_said() -> None:
    """Equal candidates, in cells that differ in their spread: what is known beforehand is the third
    quartile of that (spread_of). Quantiles are normal, though the spread is estimated from few
    launches: the looks, which have launches in common, pay for it."""
    chance = random.Random(2)
    effort = Effort(gain=0.0)  # without gain nothing is dropped as not worth while
    third = NormalDist().inv_cdf(0.75)
    between, races, rivals = 0.04, 100, [OURS, Candidate("bcast_ring")]
    dropped = 0
    for _ in range(races):
        spread = between * math.exp(0.4 * (chance.gauss(0, 1) - third))
        found = Evidence(exact=False, spread=between)
        judge, race = Judge(found, effort), Decision([CELL], list(rivals), {})
        for run in range(effort.claims.launches[-1]):
            for variant in ("default", *(one.variant for one in rivals)):
                # A ratio has the spread of both of its sides.
                times = np.array([1e6 * math.exp(chance.gauss(0, spread / math.sqrt(2)))])
                found.add([LaunchSamples(case(variant), [run], [times])], blocks=1)
            judge.drop(race, lambda *_: False)
        dropped += sum(one not in race.racing for one in rivals)
    assert 0 < dropped <= effort.alpha * len(rivals) * races


def test_a_choice_for_all_sizes_goes_on_while_a_cell_may_be_slower_by_chance() -> None:
    """Ten times faster in one cell, 8 % slower in another that launches do not settle: it would be
    refused, and eleven launches show that it is as fast there."""
    knob = Candidate(configuration=Configuration.of({"algorithm": "2"}))
    large = Target("MPI_Bcast", 4096)
    slow, fast = [1.08, 0.99, 1.1, 1.09, 0.96, 1.12], [0.93, 0.9, 0.96, 0.92, 0.95]

    def after(there: list[float]) -> str:
        found = Evidence(exact=False, spread=0.04)
        for cell, ratios in ((CELL, there), (large, [0.1] * len(there))):
            for candidate, times in ((DEFAULT, [1.0] * len(ratios)), (knob, ratios)):
                ns = [np.array([1e6 * time], dtype=np.int64) for time in times]
                at = msgspec.structs.replace(
                    case("default"), bytes=cell.bytes, knobs=candidate.configuration.as_dict()
                )
                found.add([LaunchSamples(at, list(range(len(ns))), ns)], blocks=1)
        of = Decision([large], [knob], {}, guards=[CELL], looks=len(there))
        return Judge(found, Effort()).stop(of)

    assert after(slow) == ""
    assert "it is faster than the default in 11 launches" in after(slow + fast)
    assert "it is faster than the default in 6 launches" in after([0.96, 0.94, 1.01, 0.97, 0.95, 1])


def test_the_other_way_round_is_the_other_sign() -> None:
    found = drawn(3, 2, 1.2, 0.02)
    left, right = found.lead(CELL, OURS), found.lead(CELL, DEFAULT, OURS)
    assert left is not None and right is not None
    assert left.log == pytest.approx(-right.log) and left.error == pytest.approx(right.error)


def test_cold_candidates_are_compared_by_way_of_the_default() -> None:
    found = drawn(3, 1, 1.2, 0.02)
    cold = Candidate(configuration=Configuration.of({"a": "1"}))
    found.add_cold(CELL, cold, 1, math.log(0.9))
    lead, straight = found.lead(CELL, cold, OURS), found.lead(CELL, OURS)
    assert lead is not None and straight is not None
    assert lead.log == pytest.approx(math.log(0.9) - straight.log)
    assert lead.error > straight.error
    assert found.candidates(CELL) == sorted([cold, OURS])


def test_a_machine_that_repeats_itself_pairs_any_two_launches() -> None:
    found = Evidence(exact=True)
    found.add([samples("default", [1000.0])], blocks=1)
    later = LaunchSamples(case("bcast_tree"), [9], [np.array([1500], dtype=np.int64)])
    found.add([later], blocks=1)
    lead = found.lead(CELL, OURS)
    assert lead is not None and lead.error == 0
    assert lead.log == pytest.approx(math.log(1.5))


def test_expected_gain() -> None:
    assert expected_gain([]) == 0
    assert expected_gain([Lead(0.2, 0.0, 1)]) == 0
    assert expected_gain([Lead(-0.2, 0.0, 1)]) == pytest.approx(0.2, rel=0.05)
    even = Lead(0.0, 0.1, 3)
    alone = expected_gain([even])
    assert alone == pytest.approx(even.expected_gain(), rel=0.05)
    assert alone == pytest.approx(0.1 / math.sqrt(2 * math.pi), rel=0.05)
    # Many of them promise more than one, and less than the sum.
    assert alone < expected_gain([even] * 9) < 9 * alone


def test_a_sum_over_cells_is_as_sure_as_its_parts() -> None:
    assert together([Lead(0.1, 0.03, 4), Lead(-0.3, 0.04, 2)]) == Lead(
        pytest.approx(-0.2), pytest.approx(0.05), 2
    )
    assert together([]) is None


def test_the_spread_of_a_table() -> None:
    chance = random.Random(5)

    def medians(variant: str, spread: float) -> Medians:
        runs = list(range(40))
        return Medians(case(variant), runs, [math.exp(chance.gauss(0, spread)) for _ in runs])

    assert spread_of([]) == spread_of([medians("default", 0.1)])
    assert spread_of([medians("default", 0.0), medians("a", 0.1)]) == pytest.approx(0.1, rel=0.4)
