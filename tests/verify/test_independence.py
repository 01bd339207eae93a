"""Dependence between launches: planted series are found, independent launches raise no alarm."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from plumbline.verify import independence
from plumbline.verify.independence import lag_one

Logs = NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Logs]


def gaussian(rng: np.random.Generator, shape: tuple[int, ...]) -> Logs:
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Logs:
    return rng.standard_t(2, shape)


def autoregressive(
    rng: np.random.Generator, cells: int, launches: int, rho: float, noise: Noise = gaussian
) -> Logs:
    """AR(1), a row a cell, from its stationary state on."""
    shocks = noise(rng, (cells, launches + 30))
    for t in range(1, launches + 30):
        shocks[:, t] = rho * shocks[:, t - 1] + math.sqrt(1 - rho**2) * shocks[:, t]
    return shocks[:, 30:]


def series(logs: Logs, first: int = 100) -> list[dict[int, float]]:
    """As they come from the database: by launch numbers, with gaps."""
    return [{first + 2 * n: float(log) for n, log in enumerate(cell)} for cell in logs]


def by_hand(cell: dict[int, float]) -> float:
    """The definition, of one cell without ties."""
    ranks = [sorted(cell.values()).index(value) for _, value in sorted(cell.items())]
    n, mean = len(ranks), sum(ranks) / len(ranks)
    spread = sum((rank - mean) ** 2 for rank in ranks)
    after = [(ranks[i] - mean) * (ranks[i + 1] - mean) for i in range(n - 1)]
    return (sum(after) / spread + 1 / n) / (1 - 4 / n)


def test_one_cell_is_the_definition() -> None:
    (cell,) = series(autoregressive(np.random.default_rng(1), 1, 12, 0.5))
    assert lag_one([cell]).value == pytest.approx(by_hand(cell))


def test_cells_count_by_their_launches() -> None:
    rng = np.random.default_rng(2)
    long = series(autoregressive(rng, 1, 30, 0.3))[0]
    short = series(autoregressive(rng, 1, 9, 0.3))[0]
    weights = 30 - 4, 9 - 4
    expected = (weights[0] * by_hand(long) + weights[1] * by_hand(short)) / sum(weights)
    found = lag_one([long, short])
    assert found.value == pytest.approx(expected)
    assert (found.launches, found.cells, found.reason) == (30, 2, "")


@pytest.mark.parametrize("launches", [9, 12, 30])
@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5])
def test_a_planted_coefficient_is_found_without_bias(launches: int, rho: float) -> None:
    """Short series too: as it is, the coefficient of 9 launches with 0.5 is 0.17 on average."""
    logs = autoregressive(np.random.default_rng(3), 4000, launches, rho)
    found = lag_one(series(logs))
    assert found.value == pytest.approx(rho, abs=0.03)
    assert found.high == (rho > 0.1)


@pytest.mark.parametrize("noise", [gaussian, heavy])
@pytest.mark.parametrize("common", [0.0, 2.0])
def test_independent_launches_raise_no_alarm(noise: Noise, common: float) -> None:
    """200 tables of 30 cells and 12 launches; also where most of the noise is shared by all cells
    of a launch, so that the cells are little more than one. p is below 0.05 in 5 % of them, give or
    take three standard errors."""
    small, high = 0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        found = lag_one(series(noise(rng, (30, 12)) + common * noise(rng, (1, 12))), seed=seed)
        assert found.p is not None
        small += found.p <= 0.05
        high += found.high
    assert 0.01 < small / 200 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert high / 200 <= 0.01 + 3 * math.sqrt(0.01 * 0.99 / 200)


@pytest.mark.parametrize("rho", [0.3, 0.5])
def test_dependent_launches_are_found(rho: float) -> None:
    """20 tables of 200 cells, of which 150 have stopped after 9 of 30 launches."""
    found = 0
    for seed in range(20):
        cells = series(autoregressive(np.random.default_rng(seed), 200, 30, rho, heavy))
        cells = [dict(list(cell.items())[: 30 if n < 50 else 9]) for n, cell in enumerate(cells)]
        found += lag_one(cells).high
    assert found == 20


def test_a_drift_is_dependence_too() -> None:
    logs = np.random.default_rng(5).normal(0, 0.01, (50, 12)) + np.linspace(0, 0.06, 12)
    assert lag_one(series(logs)).high


def test_turns_are_none() -> None:
    """What alternates is negatively correlated: tests are then too careful, not too bold."""
    logs = np.random.default_rng(6).normal(0, 0.01, (50, 12)) + 0.05 * (np.arange(12) % 2)
    found = lag_one(series(logs))
    assert found.value is not None and found.value < -0.5 and not found.high


def test_what_has_too_few_launches_says_nothing() -> None:
    for cells in ([], [{}], [{1: 0.1, 2: 0.2, 3: 0.1}], [dict.fromkeys(range(12), 0.1)]):
        found = lag_one(cells)
        assert (found.value, found.error, found.p, found.cells, found.high) == (
            None,
            None,
            None,
            0,
            False,
        )
        assert found.reason == "no cell has 6 launches that differ"


def test_the_answer_repeats_itself() -> None:
    cells = series(autoregressive(np.random.default_rng(7), 20, 12, 0.2))
    assert lag_one(cells) == lag_one(cells)
    assert independence.PERMUTATIONS == 999
