"""Log ratios of one launch: what any estimator must keep, and where the two differ."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.verify.index import ESTIMATORS, medians, pairs

SAMPLES = st.lists(st.integers(1, 10**9), min_size=1, max_size=40)
EACH = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


@EACH
@given(left=SAMPLES, right=SAMPLES)
def test_swapped_sides_swap_the_sign(estimator, left: list[int], right: list[int]) -> None:  # type: ignore[no-untyped-def]
    assert estimator(left, right) == pytest.approx(-estimator(right, left), abs=1e-12)
    assert estimator(left, left) == pytest.approx(0, abs=1e-12)


@EACH
@given(samples=SAMPLES, factor=st.floats(1.0, 100.0))
def test_a_factor_comes_out_as_it_is(estimator, samples: list[int], factor: float) -> None:  # type: ignore[no-untyped-def]
    slower = [factor * one for one in samples]
    assert estimator(slower, samples) == pytest.approx(
        math.log(factor) + estimator(samples, samples), abs=1e-9
    )


@given(left=SAMPLES, right=SAMPLES)
def test_pairs_are_the_median_of_all_log_ratios(left: list[int], right: list[int]) -> None:
    every = sorted(math.log(a) - math.log(b) for a in left for b in right)
    middle = (every[(len(every) - 1) // 2] + every[len(every) // 2]) / 2
    assert pairs(left, right) == pytest.approx(middle, abs=1e-9)


def test_between_two_heaps_medians_jump_and_pairs_do_not() -> None:
    """Times with two heaps of equal weight, as at 4 ranks on 2 cores: a case against itself."""
    chance = np.random.default_rng(1)

    def launch() -> np.ndarray:
        heaps = np.where(chance.random(100) < 0.5, 1.0, 1.6)
        return heaps * np.exp(chance.normal(0, 0.02, 100))

    found = np.array(
        [
            [medians(left, right), pairs(left, right)]
            for left, right in ((launch(), launch()) for _ in range(300))
        ]
    )
    spread = found.std(axis=0)
    assert spread[1] < spread[0] / 3
