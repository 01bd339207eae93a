"""Which sizes a winner is tried at, and which it keeps, by what is known of each."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
import pytest

from plumbline.campaign.acceptance_sizes import AcceptanceTrial, SizeDecision, kept, trials
from plumbline.settings.campaign_file import load
from plumbline.verify.curve import CurveEstimate
from plumbline.verify.decision import CellDecision
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import Winner
from tests.exporters.bundles import tuned

SIZES = {"MPI_Allreduce": [8, 64, 512, 4096, 32768, 262144], "MPI_Gather": [64, 512, 4096]}
SETTINGS = load(None, {"nprocs": 4})
SLOWER = Comparison(1.3, 1.2, 1.4, 0.001, 22, "")


def ring(*ends: int) -> Winner:
    return msgspec.structs.replace(tuned("MPI_Allreduce", "ring", *ends), removes=[])


def asked(*winners: Winner) -> list[AcceptanceTrial]:
    return trials(winners, winners, SETTINGS, SIZES, crowded=True)


def judged(ratios: Mapping[int, float], *winners: Winner, **slower: int) -> list[SizeDecision]:
    return kept(winners, judged_rows(*winners, ratios=ratios, **slower), SETTINGS, SIZES, "none")


def judged_rows(
    *winners: Winner, ratios: Mapping[int, float] | None = None, **slower: int
) -> list[CellDecision[AcceptanceTrial]]:
    """All circumstances of a size are alike, but for what is `slower` at one size in a use."""
    ratios = ratios or {}
    rows = []
    for trial in asked(*winners):
        size = trial.target.bytes
        ratio = ratios.get(size, 1.0 if trial.beyond else 0.95)
        found = Comparison(ratio, 0.9 * ratio, 1.02 * ratio, 0.5, 22, "")
        if slower.get(trial.where.use) == size:
            found = SLOWER
        word = "slower" if found is SLOWER else "equal"
        estimate = CurveEstimate(math.log(ratio), 0.01)
        rows.append(CellDecision(trial, 1.05, word=word, comparison=found, estimate=estimate))
    return rows


def ranges(winners: list[Winner]) -> list[tuple[int, int]]:
    return [(winner.bytes_from, winner.bytes_to) for winner in winners]


def test_sizes_of_the_range_its_ends_and_what_nobody_holds_beside_it() -> None:
    wide, other = ring(50, 600), tuned("MPI_Allreduce", "linear", 8, 8)
    those = asked(wide, other)
    assert {one.target.bytes for one in those if one.winner == 0 and not one.beyond} == {
        *(50, 64, 512, 600)
    }
    assert {one.target.bytes for one in those if one.winner == 0 and one.beyond} == {
        *(4096, 32768, 262144)
    }


def test_what_has_no_upper_end_is_tried_far_above_the_measured_sizes() -> None:
    those = asked(tuned("MPI_Gather", "linear"))
    assert {one.target.bytes for one in those if not one.far} == {64, 512, 4096}
    far = [one for one in those if one.far]
    assert {one.target.bytes for one in far} == {1 << 17, 4 << 20}
    assert {one.where.data for one in far} == {SETTINGS.cases.data.of("MPI_Gather")}
    assert {one.where.use for one in far} == {one.where.use for one in those}


def test_harm_far_above_is_harm_and_gains_there_are_no_promise() -> None:
    linear = tuned("MPI_Gather", "linear")
    ((kept,), refused, _) = msgspec.structs.astuple(judged({4 << 20: 0.2}, linear)[0])
    assert refused == [] and kept.tried[0].speedup == pytest.approx(1 / 0.95)
    (found,) = judged({}, linear, stream=4 << 20)
    assert found.winners == [] and "at 4194304 B (stream" in found.refused[0][1]


def test_a_size_that_is_lost_in_one_use_parts_the_range() -> None:
    (found,) = judged({}, ring(8, 4096), stream=64)
    assert ranges(found.winners) == [(8, 8), (512, 4096)]
    ((lost, why),) = found.refused
    assert (lost.bytes_from, lost.bytes_to) == (64, 64)
    assert why.startswith("slower at 64 B (stream, ") and why.endswith(": 1.30 [1.20, 1.40]")


def test_one_wrong_result_costs_the_candidate_all_sizes_and_types() -> None:
    narrow, wide = ring(8, 8), ring(512, 4096)
    rows = judged_rows(narrow, wide)
    at = max(place for place, row in enumerate(rows) if not row.key.beyond)
    rows[at] = CellDecision(rows[at].key, 1.05, word="unmeasured", reason="wrong: rank 0: 1, not 2")
    for decision in kept([narrow, wide], rows, SETTINGS, SIZES, "none"):
        assert decision.winners == [] and decision.narrowed == []
        assert [why for _, why in decision.refused] == ["wrong: rank 0: 1, not 2"]


def test_ends_that_no_table_measures_are_not_left_alone() -> None:
    (found,) = judged({}, ring(50, 64), loop=64)
    assert (found.winners, ranges([lost for lost, _ in found.refused])) == (
        [],
        [(50, 50), (64, 64)],
    )
    assert "no measured size is left" in found.refused[0][1]


def test_what_shows_no_gain_in_the_own_use_is_not_worth_a_rule() -> None:
    (found,) = judged({8: 0.89, 64: 0.94, 512: 1.01, 4096: 1.0}, ring(8, 4096), stream=512)
    assert ranges(found.winners) == [(8, 64)]  # together they are faster
    assert [ranges([lost]) for lost, _ in found.refused] == [[(512, 512)], [(4096, 4096)]]
    assert found.refused[1][1] == "no gain is seen: 1.00 [0.97, 1.03] times as fast"


def test_a_single_size_beside_doubtful_ones_is_luck_unless_a_violation_is_there() -> None:
    for removes, kept_sizes in ([], []), (["GL12@64"], [(64, 64)]):
        winner = msgspec.structs.replace(ring(8, 512), removes=removes)
        rows = [
            msgspec.structs.replace(
                row, word="undecided" if row.key.target.bytes != 64 else "equal"
            )
            for row in judged_rows(winner)
        ]
        (found,) = kept([winner], rows, SETTINGS, SIZES, "none")
        assert ranges(found.winners) == kept_sizes
        assert any("a single size is left" in why for _, why in found.refused) is not bool(removes)


@pytest.mark.parametrize(
    ("removes", "rule"),
    [
        ([], False),
        (["GL12@8"], True),
        (["GL12@512"], False),  # at a size that it has lost
    ],
)
def test_a_small_gain_is_worth_a_rule_where_it_removes_a_violation(
    removes: list[str], rule: bool
) -> None:
    one = msgspec.structs.replace(ring(8, 512), removes=removes)
    (found,) = judged({8: 0.97, 64: 0.97, 512: 0.97}, one, stream=512)
    assert ranges(found.winners) == [(8, 64)] * rule
    small = "it removes no violation, and gains too little: 1.03 times as fast"
    assert ([small] * (not rule)) == [why for _, why in found.refused if "gains" in why]


def test_beyond_its_range_it_goes_as_far_as_it_is_clearly_faster() -> None:
    (found,) = judged({64: 0.7, 4096: 0.7, 262144: 0.7}, ring(512, 512))
    assert ranges(found.winners) == [(64, 4096)]
    assert {one.cells for one in found.winners[0].tried} == {3}


def test_what_is_one_for_all_sizes_stands_or_falls_as_a_whole() -> None:
    (fine,) = judged({}, tuned("MPI_Gather", "binomial"))
    (lost,) = judged({}, tuned("MPI_Gather", "binomial"), loop=512)
    assert len(fine.winners) == 1 and not fine.refused
    assert not lost.winners and "at 512 B" in lost.refused[0][1]
