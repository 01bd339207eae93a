"""What is compared of a launch: sample by sample where there are samples, else the medians."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plumbline.core.cell import Side
from plumbline.verify.index import Index
from plumbline_db.records import Case, Medians
from plumbline_db.runs import LaunchSamples, medians_of

SIDES = (Side("MPI_Bcast", "default", 8), Side("MPI_Bcast", "mock", 8))


def samples(variant: str, launches: list[list[int]]) -> LaunchSamples:
    case = Case("MPI_Bcast", variant, {}, "default", 8, "MPI_BYTE", "MPI_BOR", 0)
    return LaunchSamples(case, list(range(len(launches))), [np.array(one) for one in launches])


def test_heaps_do_not_decide() -> None:
    """Half of the times are 300, half 1000: which one the median is, is chance."""
    left = samples("default", [[300, 300, 300, 1000, 1000]])
    right = samples("mock", [[300, 300, 1000, 1000, 1000]])
    medians = [medians_of(left), medians_of(right)]
    assert Index(medians).log_ratios(*SIDES, 1) == ([pytest.approx(math.log(0.3))], 0)
    assert Index(medians, samples=[left, right]).log_ratios(*SIDES, 1) == ([0.0], 0)


def test_a_shift_is_a_shift() -> None:
    rng = np.random.default_rng(3)
    times = rng.integers(1000, 9000, (4, 48))
    left, right = samples("default", (times * 2).tolist()), samples("mock", times.tolist())
    index = Index([medians_of(left), medians_of(right)], samples=[left, right])
    found, unusable = index.log_ratios(*SIDES, 2)
    assert unusable == 0
    assert found == pytest.approx([0.0] * 4)


def test_launches_without_samples_have_their_medians() -> None:
    case = Case("MPI_Bcast", "default", {}, "default", 8, "MPI_BYTE", "MPI_BOR", 0)
    left = Medians(case, [0, 1], [2e-6, 3e-6])
    right = samples("mock", [[1000, 1000], [1000, 1000]])
    found, _ = Index([left, medians_of(right)], samples=[right]).log_ratios(*SIDES, 1)
    assert found == pytest.approx([math.log(2), math.log(3)])


def test_samples_below_the_unit_of_the_timer() -> None:
    left, right = samples("default", [[0, 20, 20]]), samples("mock", [[20, 20, 20]])
    index = Index([medians_of(left), medians_of(right)], samples=[left, right])
    assert index.log_ratios(*SIDES, 1) == ([0.0], 0)
