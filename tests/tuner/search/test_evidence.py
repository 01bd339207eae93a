"""What launches say of two candidates: paired by block, with an error that knows launches; what is
said about a search."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import msgspec
import numpy as np
import pytest

from plumbline.core.configuration import Configuration
from plumbline.search.outcome import deciding, holds, label, record
from plumbline.search.race.effort import Effort
from plumbline.search.race.evidence import Evidence, Lead, expected_gain, spread_of, together
from plumbline.search.race.judging import Decision, Judge
from plumbline.search.space.candidates import DEFAULT, Candidate
from plumbline.search.space.cells import Target
from plumbline_db.records import UNBOUNDED_BYTES, Case, Medians, Winner
from plumbline_db.runs import LaunchSamples
from tests.db import build
from tests.tuner.search.test_select import trial

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
    effort = Effort(gain=0.0, spread=0.04)  # without gain nothing is dropped as not worth while
    third = NormalDist().inv_cdf(0.75)
    races, rivals = 100, [OURS, Candidate("bcast_ring")]
    dropped = 0
    for _ in range(races):
        spread = effort.spread * math.exp(0.4 * (chance.gauss(0, 1) - third))
        found = Evidence(exact=False, spread=effort.spread)
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


# --- what is said ---------------------------------------------------------------------------------


TARGET = Target("MPI_Allreduce", 16384)


def winner(**changes: object) -> Winner:
    return build.winner(**({"function": "MPI_Allreduce"} | changes))


def test_where_a_winner_holds() -> None:
    one = winner(bytes_from=8192, bytes_to=16384)
    assert [holds(one, Target("MPI_Allreduce", n)) for n in (8191, 8192, 16384, 16385)] == [
        False,
        True,
        True,
        False,
    ]
    assert not holds(one, Target("MPI_Reduce", 16384))


def test_a_variant_of_ours_decides_before_the_library() -> None:
    knob = winner(bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    ours = winner(bytes_from=8192, bytes_to=16384, variant="allreduce_as_reduce_plus_bcast")
    for both in ([knob, ours], [ours, knob]):
        assert deciding(both, TARGET) is ours
        assert deciding(both, Target("MPI_Allreduce", 64)) is knob
    assert deciding([ours], Target("MPI_Allreduce", 64)) is None


def test_labels() -> None:
    assert label("default", {}) == "default"
    assert label("default", {"b": "2", "a": "1"}) == "a=1 b=2"
    assert label("gather_binomial", {}) == "gather_binomial"
    assert label("gather_binomial", {"a": "1"}) == "gather_binomial a=1"


def said(*trials: object, winners: list[Winner] | None = None):  # type: ignore[no-untyped-def]
    return record(2, TARGET, ["GL12@16384"], trials, winners or [], ["search-2-final"], 4, 1)  # type: ignore[arg-type]


def test_a_search_that_found_something() -> None:
    """What is chosen need not be the fastest: it has its own numbers."""
    chosen = winner(configuration={"coll_tuned_allreduce_algorithm": "rabenseifner"})
    found = said(trial("basic_linear", 0.49), trial("rabenseifner", 0.5), winners=[chosen])
    assert found.outcome == "winner"
    assert found.reason == (
        "chosen out of 2 candidates: coll_tuned_allreduce_algorithm=rabenseifner, "
        "takes 0.50 [0.48, 0.52] of the default's time"
    )
    assert (found.round, found.function) == (2, "MPI_Allreduce")
    assert (found.bytes, found.nprocs, found.ppn) == (16384, 4, 1)
    assert found.opened_by == ["GL12@16384"]


def test_a_search_says_why_it_ended_and_what_its_bound_was() -> None:
    found = record(
        1,
        Target("MPI_Allreduce", 16384),
        ["GL12@16384"],
        [trial("ring", 1.2)],
        [],
        [],
        4,
        1,
        bound="GL12@16384",
        bound_ratio=0.54,
        stopped="going on is expected to gain 0.2 %",
    )
    assert found.reason.endswith("default's time; going on is expected to gain 0.2 %")
    assert (found.bound, found.bound_ratio) == ("GL12@16384", 0.54)


def test_a_search_that_found_nothing_says_how_near_it_came() -> None:
    found = said(
        trial("rabenseifner", 1.20),
        trial("basic_linear", 1.08),
        msgspec.structs.replace(trial("ring", 0.1), state="wrong", ratio=None),
    )
    assert found.outcome == "nothing better"
    assert found.reason == (
        "3 candidates; the fastest, coll_tuned_allreduce_algorithm=basic_linear, "
        "takes 1.08 [1.06, 1.10] of the default's time"
    )
    assert said().reason == "no candidate was tried"
    none = msgspec.structs.replace(trial("ring", 1.0), ratio=None, detail="")
    aborts = msgspec.structs.replace(none, state="failed", detail="SIGABRT, exit status 134")
    wrong = msgspec.structs.replace(none, state="wrong")
    assert said(aborts, aborts, wrong).reason == (
        "no candidate has a time: 2 ended launches, 1 gave wrong results (SIGABRT, exit status 134)"
    )
    few = said(trial("rabenseifner", 1.2, ratio_low=None, ratio_high=None))
    assert few.reason.endswith("takes 1.20 of the default's time")
