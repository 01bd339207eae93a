"""What is learnt of a cell covers its noise; noisy ones take part in more launches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from plumbline.watch.chart import FREEDOM, LEAST_SCALE, LEVELS, baseline_of, learn


def test_the_scale_of_its_own_noise() -> None:
    middles, scales = learn(0.03 * np.random.default_rng(1).standard_t(FREEDOM, (400, 200)) + 0.5)
    assert np.median(middles) == pytest.approx(0.5, abs=0.001)
    assert np.median(scales) == pytest.approx(0.033, abs=0.003)


def test_rare_large_values_are_covered() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(0, 0.01, 72)
    values[rng.permutation(72)[:8]] += 0.5
    assert baseline_of(values.tolist()).scale > 0.1


def test_values_that_remember_make_it_wider() -> None:
    noise = np.random.default_rng(3).normal(0, 0.02, (100, 100))
    _, free = learn(noise)
    followed = noise.copy()
    for n in range(1, len(noise)):
        followed[n] = 0.6 * followed[n - 1] + 0.8 * noise[n]
    _, wider = learn(followed)
    assert np.median(wider) > 1.5 * np.median(free)
    assert np.median(free) == pytest.approx(0.0191, abs=0.001)


def test_all_cells_of_a_machine_show_its_memory() -> None:
    """A correlation of 0.3, which one cell hardly shows in three days: scales are wide enough."""
    noise = np.random.default_rng(4).normal(0, 0.02, (72, 200))
    _, free = learn(noise)
    _, free_together = learn(noise, together=True)
    assert np.median(free_together / free) < 1.01
    followed = noise.copy()
    for n in range(1, len(noise)):
        followed[n] = 0.3 * followed[n - 1] + np.sqrt(1 - 0.09) * noise[n]
    _, alone = learn(followed)
    _, together = learn(followed, together=True)
    wanted = np.median(free) * np.sqrt(1.3 / 0.7)
    assert np.median(alone) < 0.95 * wanted
    assert np.quantile(together, 0.1) > np.quantile(alone, 0.1)
    assert np.median(together) == pytest.approx(wanted, rel=0.1)


def test_what_repeats_itself_has_a_scale() -> None:
    baseline = baseline_of([0.25] * 30)
    assert baseline.middle == 0.25
    assert baseline.scale == LEAST_SCALE


@given(st.lists(st.floats(-5, 5), min_size=20, max_size=60), st.floats(-3, 3), st.floats(0.1, 10))
@settings(max_examples=30)
def test_it_moves_and_grows_with_the_values(
    values: list[float], moved: float, times: float
) -> None:
    one = baseline_of(values)
    other = baseline_of([times * value + moved for value in values])
    assert other.middle == pytest.approx(times * one.middle + moved, abs=1e-6)
    if min(one.scale, times * one.scale) > 2 * LEAST_SCALE:
        assert other.scale == pytest.approx(times * one.scale, rel=1e-6)


@given(st.lists(st.floats(-5, 5), min_size=20, max_size=60))
@settings(max_examples=30)
def test_tails_are_covered(values: list[float]) -> None:
    one = baseline_of(values)
    distances = np.abs(np.array(values) - one.middle) / one.scale
    for level in LEVELS:
        beyond = (distances > stdtrit(FREEDOM, (1 + level) / 2) + 1e-9).mean()
        assert beyond <= 1 - level + 1e-9
