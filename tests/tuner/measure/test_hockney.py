"""Lines through round trips: exact where the truth is a line, and not turned by what is not; a
machine that is fitted to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.measure import hockney

SIZES = [0, *(2**power for power in range(23))]
ALPHA = st.floats(1e-7, 1e-4)
BETA = st.floats(1e-11, 1e-8)


def straight(alpha: float, beta: float, sizes: list[int] = SIZES) -> dict[int, list[float]]:
    return {size: [alpha + beta * size] for size in sizes}


@settings(max_examples=60)
@given(alpha=ALPHA, beta=BETA, sizes=st.sets(st.sampled_from(SIZES), min_size=3))
def test_a_line_comes_back(alpha: float, beta: float, sizes: set[int]) -> None:
    found = hockney.fit(straight(alpha, beta, sorted(sizes)))
    assert found.pieces == []
    line = found.whole
    assert (line.bytes_from, line.bytes_to, line.launches) == (min(sizes), max(sizes), 1)
    assert line.deviation < 1e-6
    for size in sizes:
        again = line.alpha_seconds.value + line.beta_seconds_per_byte.value * size
        assert again == pytest.approx(alpha + beta * size, rel=1e-6)
    assert line.alpha_seconds.value == pytest.approx(alpha, rel=1e-5) or min(sizes) > 0
    assert line.alpha_seconds.low is None  # one launch says nothing of its spread


@settings(max_examples=60)
@given(
    alpha=ALPHA,
    beta=BETA,
    seed=st.integers(0, 2**32),
    bad=st.sets(st.integers(0, len(SIZES) - 1), min_size=1, max_size=3),
)
def test_a_few_disturbed_sizes_do_not_turn_it(
    alpha: float, beta: float, seed: int, bad: set[int]
) -> None:
    noise = np.random.default_rng(seed)
    times = np.array([alpha + beta * size for size in SIZES]) * noise.normal(1, 0.005, len(SIZES))
    disturbed = times.copy()
    disturbed[list(bad)] *= 4
    sizes = np.array(SIZES, dtype=float)
    clean, lifted = hockney.line(sizes, times), hockney.line(sizes, disturbed)
    for size in (0, 2**22):
        before, after = (a + b * size for a, b in (clean, lifted))
        if beta * 2**20 > 3 * alpha or size == 0:  # else few sizes say anything of β
            assert after == pytest.approx(before, rel=0.05)


def test_large_messages_do_not_decide_alone() -> None:
    """Where the largest messages leave the caches, least squares misses the latency by far."""
    times = {size: [4e-7 + 5e-11 * size * (2 if size > 2**20 else 1)] for size in SIZES}
    found = hockney.fit(times).whole
    sizes = np.array(SIZES, dtype=float)
    squares = np.polyfit(sizes, [times[size][0] for size in SIZES], 1)
    assert found.alpha_seconds.value == pytest.approx(4e-7, rel=0.01)
    assert abs(squares[1] / 4e-7 - 1) > 5


@settings(max_examples=15)
@given(switch=st.integers(4, 20), seed=st.integers(0, 2**32))
def test_a_change_of_protocol_is_found(switch: int, seed: int) -> None:
    noise = np.random.default_rng(seed)
    limit = SIZES[switch]
    times = {
        size: list(
            (4e-7 + 2e-10 * size if size < limit else 4e-6 + 2e-10 * limit + 6e-11 * size)
            * noise.normal(1, 0.01, 8)
        )
        for size in SIZES
    }
    found = hockney.fit(times)
    assert [piece.bytes_to for piece in found.pieces[:1]] in ([], [SIZES[switch - 1]])
    if 2**10 <= limit <= 2**15:  # where it is not drowned by β m, nor the sizes too few
        eager, rendezvous = found.pieces
        assert rendezvous.bytes_from == limit
        assert eager.alpha_seconds.value == pytest.approx(4e-7, rel=0.02)
        assert rendezvous.alpha_seconds.value == pytest.approx(4e-6 + 2e-10 * limit, rel=0.05)
        assert rendezvous.beta_seconds_per_byte.value == pytest.approx(6e-11, rel=0.02)
        assert eager.deviation < 0.02 > rendezvous.deviation


def test_noise_alone_is_no_change_of_protocol() -> None:
    noise = np.random.default_rng(1)
    for _ in range(20):
        truth = np.array([4e-7 + 1e-10 * size for size in SIZES])
        times = truth[:, None] * noise.normal(1, 0.1, (len(SIZES), 1))
        assert hockney.fit({s: list(t) for s, t in zip(SIZES, times, strict=True)}).pieces == []


def test_intervals_hold_the_truth() -> None:
    """Launches differ by 5 % in latency and in bandwidth: at least 95 % of intervals over ten
    launches hold both medians (97.9 % is what the order statistics of ten have)."""
    noise = np.random.default_rng(2)
    sizes, held = [0, 8, 1024, 16384, 2**20], np.zeros(2)
    for _ in range(100):
        launches = [(4e-7 * a, 1e-10 * b) for a, b in np.exp(noise.normal(0, 0.05, (10, 2)))]
        found = hockney.fit({size: [a + b * size for a, b in launches] for size in sizes}).whole
        for i, (value, truth) in enumerate(
            ((found.alpha_seconds, 4e-7), (found.beta_seconds_per_byte, 1e-10))
        ):
            assert value.low is not None and value.high is not None
            assert value.low <= value.value <= value.high
            held[i] += value.low <= truth <= value.high
    assert (held >= 0.95 * 100).all()
    assert (held < 100).any()


@pytest.mark.parametrize(("count", "outside"), [(5, None), (6, 1), (8, 1), (9, 2), (20, 6)])
def test_the_interval_of_a_median(count: int, outside: int | None) -> None:
    """Ranks of the sign test's tables for 95 %."""
    found = hockney.median_interval([float(value) for value in range(1, count + 1)])
    assert found.value == (count + 1) / 2
    if outside is None:
        assert (found.low, found.high) == (None, None)
    else:
        assert (found.low, found.high) == (outside, count + 1 - outside)


@pytest.mark.parametrize(
    "times",
    [
        {0: [1e-6], 8: [1e-6]},
        {0: [1e-6], 8: [1e-6, 2e-6], 16: [1e-6]},
        {0: [1e-6], 8: [0.0], 16: [1e-6]},
        {0: [1e-6], 8: [float("nan")], 16: [1e-6]},
        {0: [], 8: [], 16: []},
    ],
)
def test_nothing_to_fit(times: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError):
        hockney.fit(times)
