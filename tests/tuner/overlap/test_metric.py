"""The overhead ratio: by hand, and whether its interval covers."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from plumbline.overlap.metric import latency, ratio, slowdown
from plumbline_db.records import Overlap

CELL = Overlap(
    0, "sender", 8, 8, "registers", 100, 0, 1, 0, 1, 0, "", 1, 0, False, True, [], [], []
)


def cell(communication: list[int], computation: list[int], both: list[int], **more: int) -> Overlap:
    return msgspec.structs.replace(
        CELL,
        communication_ns=communication,
        computation_ns=computation,
        both_ns=both,
        **more,
    )


@pytest.mark.parametrize(
    ("both", "expected"), [(300, 0.0), (400, 1.0), (350, 0.5), (500, 2.0), (290, -0.1)]
)
def test_the_longer_of_the_two_and_a_share_of_the_shorter(both: int, expected: float) -> None:
    for alone in ((100, 300), (300, 100)):
        found = ratio([(cell([alone[0]] * 9, [alone[1]] * 9, [both] * 9), 0)])
        assert found is not None and found.value == pytest.approx(expected)
        assert (found.low, found.high) == pytest.approx((expected, expected))
        assert not found.noisy


def test_empty_messages_are_taken_off_and_halves_are_halves() -> None:
    """10 ns of latency: communication (210 - 10) / 2 = 100, both (410 - 10) / 2 = 200."""
    found = ratio([(cell([210] * 5, [100] * 5, [410] * 5, latencies=1, halves=2), 10.0)])
    assert found is not None
    assert (found.communication, found.computation, found.both) == pytest.approx(
        (100e-9, 100e-9, 200e-9)
    )
    assert found.value == pytest.approx(1)
    assert latency([12, 8, 10]) == 10


def test_the_interval_covers_what_is_true() -> None:
    """Normal times with 5 % of scatter: 95 of 100 at least cover, but for chance."""
    chance = np.random.default_rng(7)
    covered = 0
    for trial in range(100):
        drawn = [
            np.rint(middle * (1 + 0.05 * chance.standard_normal(50))).astype(int).tolist()
            for middle in (100_000, 200_000, 250_000)
        ]
        found = ratio([(cell(*drawn), 0)], seed=trial)
        assert found is not None
        covered += found.low <= 0.5 <= found.high
    assert covered >= 88


def test_where_there_is_no_ratio() -> None:
    assert ratio([]) is None and ratio([(CELL, 0)]) is None
    assert ratio([(cell([5], [5], [5], delivered=False), 0)]) is None
    assert ratio([(cell([5], [5], [5], latencies=1), 5.0)]) is None


def test_times_that_scatter_by_more_than_the_shorter_say_nothing() -> None:
    found = ratio([(cell([10, 10, 10], [100, 140, 60], [100, 150, 60]), 0)])
    assert found is not None and found.noisy


def test_launches_that_differ_widen_the_interval() -> None:
    """Perfect in one half of the launches, one after the other in the rest."""
    good, poor = cell([100] * 20, [300] * 20, [300] * 20), cell([100] * 20, [300] * 20, [400] * 20)
    found = ratio([(good, 0), (poor, 0), (good, 0), (poor, 0)])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((0, 1))


def test_a_slowdown_is_one_time_over_the_other() -> None:
    """Empty messages and halves as above: (220 - 20) / 2 without threads, (620 - 20) / 2 beside."""
    loaded = cell([220] * 9, [7] * 9, [620] * 9, latencies=2, halves=2)
    found = slowdown([(loaded, 10.0)])
    assert found is not None and not found.noisy
    assert (found.value, found.low, found.high) == pytest.approx((3.0, 3.0, 3.0))
    assert found.communication == pytest.approx(100e-9)
    assert slowdown([]) is None and slowdown([(cell([0], [1], [1]), 0)]) is None


def test_a_slowdown_has_an_interval_that_covers() -> None:
    """Without threads some 100 us, beside them 300 us or, every third time, 9 ms."""
    chance = np.random.default_rng(3)
    covered = 0
    for trial in range(100):
        alone = np.rint(100_000 * (1 + 0.05 * chance.standard_normal(60))).astype(int)
        beside = np.where(chance.random(60) < 1 / 3, 9_000_000, 300_000)
        beside = np.rint(beside * (1 + 0.05 * chance.standard_normal(60))).astype(int)
        found = slowdown([(cell(alone.tolist(), [1] * 60, beside.tolist()), 0)], seed=trial)
        assert found is not None and not found.noisy
        # The median of the mixture is the 75 % quantile of its lower part.
        covered += found.low <= 3 * (1 + 0.05 * 0.6745) <= found.high
    assert covered >= 88


def test_a_reference_that_scatters_by_more_than_itself() -> None:
    found = slowdown([(cell([10, 300, 20, 400, 5], [1] * 5, [500] * 5), 0)])
    assert found is not None and found.noisy
