"""Run lengths are those that a sum has which is followed canary by canary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.watch import chart
from plumbline.watch.chart import FREEDOM, GAIN, LEAST_CANARIES, found_within, step, threshold

MANY = 8_000


def simulated(reference: float, limit: float, shift: float, most: int) -> np.ndarray:
    """Canaries to the alarm, of MANY cells; most + 1: none."""
    rng = np.random.default_rng(1)
    sums, found = np.zeros(MANY), np.full(MANY, most + 1)
    for number in range(1, most + 1):
        sums = step(sums, rng.standard_t(FREEDOM, MANY) + shift, np.full(MANY, reference))
        found = np.where((sums >= limit) & (found > most), number, found)
    return found


@pytest.mark.parametrize(("reference", "limit"), [(0.8, 2.5), (1.2, 1.9), (0.3, 4.0)])
def test_run_length_as_simulated(reference: float, limit: float) -> None:
    found = simulated(reference, limit, 0.0, 900)
    expected = chart.run_length(reference, limit)
    assert expected < 180
    assert found.mean() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(("reference", "shift"), [(1.4, 3.0), (1.0, 2.0)])
def test_delay_as_simulated(reference: float, shift: float) -> None:
    limit = threshold(reference, 288_000.0)
    found = simulated(reference, limit, shift, 10)
    for canaries in (4, 6, 10):
        expected = found_within(reference, limit, canaries, shift)
        assert (found <= canaries).mean() == pytest.approx(expected, abs=0.02)


@given(st.floats(0.6, 5.0), st.floats(1e3, 1e6))
@settings(max_examples=10)
def test_the_threshold_keeps_what_was_wanted(reference: float, wanted: float) -> None:
    limit = threshold(reference, wanted)
    assert chart.run_length(reference, limit) >= wanted
    assert limit > (LEAST_CANARIES - 1) * GAIN
    if limit > 1.1 * (LEAST_CANARIES - 1) * GAIN:
        assert chart.run_length(reference, 0.95 * limit) < wanted


@pytest.mark.parametrize(("reference", "limit"), [(0.8, 8.0), (1.0, 6.1), (1.4, 4.6)])
def test_finer_heights_change_little(
    reference: float, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    coarse = chart.run_length(reference, limit)
    monkeypatch.setattr(chart, "HEIGHTS", 96)
    assert coarse == pytest.approx(chart.run_length(reference, limit), rel=0.04)


def test_what_is_never_reached() -> None:
    assert chart.run_length(3.0, 40.0) == math.inf
