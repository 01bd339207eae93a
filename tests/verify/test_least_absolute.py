"""Least absolute deviations against a linear programme."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from plumbline.verify import least_absolute
from plumbline.verify.least_absolute import Vector


def by_linear_programme(columns: Vector, wanted: Vector) -> float:
    """The least sum of deviations: minimise Σ (u + v) with columns w - u + v = wanted, all ≥ 0. The
    solver wants columns of one order of magnitude."""
    columns = columns / columns.mean(axis=0)
    count, parts = columns.shape
    return float(
        linprog(
            np.concatenate([np.zeros(parts), np.ones(2 * count)]),
            A_eq=np.hstack([columns, -np.eye(count), np.eye(count)]),
            b_eq=wanted,
            bounds=(0, None),
            method="highs",
        ).fun
    )


@pytest.mark.parametrize("parts", [1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_nearer(parts: int, seed: int) -> None:
    """Also where a weight must be 0, and where columns differ by nine orders of magnitude."""
    rng = np.random.default_rng(seed)
    columns = rng.lognormal(0, 1, (15, parts)) * 10.0 ** rng.integers(-9, 1, parts)
    truth = rng.normal(0.5, 1, parts) / columns.mean(axis=0)
    wanted = columns @ truth + rng.normal(0, 0.1, 15)
    found = least_absolute.weights(columns, wanted)
    assert (found >= 0).all()
    deviations = float(np.abs(columns @ found - wanted).sum())
    assert deviations == pytest.approx(by_linear_programme(columns, wanted), rel=1e-7)


def test_columns_that_say_the_same_or_nothing() -> None:
    wanted = np.array([1.0, 2.0, 3.0])
    twice = np.column_stack([wanted, 2 * wanted, np.zeros(3)])
    assert twice @ least_absolute.weights(twice, wanted) == pytest.approx(wanted)
