"""The overhead ratio: by hand, and whether its interval covers; regret, ranks and conditions."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from plumbline.overlap.metric import latency, ratio, slowdown
from plumbline_db.probe_records import Overlap, OverlapLatency

CELL = Overlap(
    0, "sender", 8, 8, "registers", 100, 0, 1, 0, 1, 0, "", 1, 0, False, False, True, [], [], []
)


def cell(communication: list[int], computation: list[int], both: list[int], **more: int) -> Overlap:
    return msgspec.structs.replace(
        CELL, communication_ns=communication, computation_ns=computation, both_ns=both, **more
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
    assert (found.both_low, found.both_high) == pytest.approx((200e-9, 200e-9))
    assert latency([OverlapLatency("start", [12, 8]), CELL, OverlapLatency("end", [10])]) == 10


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
    """Perfect in one half of the launches, one after the other in the rest: half a unit of standard
    deviation times sqrt(4 / 3), Student's t of 3 degrees of freedom."""
    good, poor = cell([100] * 20, [300] * 20, [300] * 20), cell([100] * 20, [300] * 20, [400] * 20)
    found = ratio([(good, 0), (poor, 0), (good, 0), (poor, 0)])
    assert found is not None and found.value == pytest.approx(0.5)
    half = 3.18245 * 0.5 * (4 / 3) ** 0.5 / 2
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-4)


def test_a_launch_with_nothing_to_overlap_leaves_no_ratio() -> None:
    good, none = cell([100] * 9, [300] * 9, [300] * 9), cell([5] * 9, [300] * 9, [300] * 9)
    assert ratio([(good, 5.0), (cell([5] * 9, [300] * 9, [300] * 9, latencies=1), 5.0)]) is None
    assert ratio([(good, 0), (none, 0), (good, 0)]) is not None


MIDDLE = np.array([100_000.0, 200_000.0, 250_000.0])  # ns; a ratio of 0.5


def made(chance: np.random.Generator, launches: int, tails: int) -> NDArray[np.float64]:
    """Times (launch, kind, triple): each launch has times of its own, 3 % apart (normal, or
    Student's t of `tails` degrees of freedom), and 5 % of scatter inside."""
    shape = (launches, 3, 1)
    own = chance.standard_t(tails, shape) if tails else chance.standard_normal(shape)
    inside = chance.standard_normal((launches, 3, 50))
    return np.rint(MIDDLE[:, None] * (1 + 0.03 * own) * (1 + 0.05 * inside))


@pytest.mark.parametrize("launches", [2, 3, 5])
@pytest.mark.parametrize("tails", [0, 3])
def test_few_launches_that_differ_are_covered(launches: int, tails: int) -> None:
    """Of 300 intervals 285 should cover, but for chance."""
    chance = np.random.default_rng(launches + tails)
    covered = 0
    for trial in range(300):
        times = made(chance, launches, tails).astype(int).tolist()
        told = ratio([(cell(*one), 0) for one in times], seed=trial)
        assert told is not None
        covered += told.low <= 0.5 <= told.high
    assert covered >= 273


def test_resampling_few_launches_would_cover_too_little() -> None:
    """Percentiles over launches, and triples in them, drawn with replacement; three launches."""
    chance = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        times = made(chance, 3, 0)
        which = chance.integers(0, 3, (200, 3, 1))
        triples = chance.integers(0, 50, (200, 3, 50))
        short, long, both = np.median(times[which, :, triples], axis=(1, 2)).T
        low, high = np.quantile((both - long) / short, (0.025, 0.975))
        covered += low <= 0.5 <= high
    assert covered < 0.87 * 300


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
