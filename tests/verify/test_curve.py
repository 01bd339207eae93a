"""Estimates of a candidate's cells are compared with conditioning by hand, and with simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plumbline.verify import curve
from plumbline.verify.curve import CurveEstimate, CurvePoint, estimates

SIZES = [4 << step for step in range(10)]
USES = ["", "loop", "stream"]


def cells(means: dict[tuple[int, str], float], variance: float) -> list[CurvePoint]:
    return [CurvePoint(size, use, "MPI_INT", mean, variance) for (size, use), mean in means.items()]


def test_two_cells_are_conditioned_on_each_other() -> None:
    """The formula for two normal variables gives the same."""
    first, second = (
        CurvePoint(64, "", "MPI_INT", -0.2, 0.01),
        CurvePoint(128, "", "MPI_INT", 0.1, 0.04),
    )
    ((one, _),) = estimates([[first, second]])
    near = math.exp(-1 / 4)
    alike = 1.0 + 0.17**2 * near + (0.09**2 + 0.04**2) * (1 + near) / 2
    own = 1.0 + 0.17**2 + 0.09**2 + 0.04**2 + 0.02**2
    covariance = np.array([[own + 0.01, alike], [alike, own + 0.04]])
    weights = np.array([own, alike]) @ np.linalg.inv(covariance)
    assert one.mean == pytest.approx(weights @ [-0.2, 0.1])
    assert one.error == pytest.approx(math.sqrt(own - weights @ [own, alike]))


def test_a_cell_that_is_known_by_itself_keeps_its_ratio() -> None:
    ((known, vague),) = estimates(
        [[CurvePoint(64, "", "a", -0.3, 1e-8), CurvePoint(64, "loop", "a", 0.3, 1.0)]]
    )
    assert known.mean == pytest.approx(-0.3, abs=1e-4)
    assert vague.mean < 0 and vague.error > 10 * known.error


def test_intervals_cover_what_they_promise() -> None:
    rng = np.random.default_rng(5)
    points = cells({(size, use): 0.0 for size in SIZES for use in USES}, 0.05**2)
    prior = curve._Curve(points)._prior(1.0)
    missed = 0
    for _ in range(60):
        true = rng.multivariate_normal(np.zeros(len(points)), prior)
        means = true + rng.normal(0, 0.05, len(points))
        seen = [
            CurvePoint(point.bytes, point.use, point.type, float(mean), point.variance)
            for point, mean in zip(points, means, strict=True)
        ]
        (found,) = estimates([seen])
        missed += sum(
            not one.low(0.95) <= log <= one.high(0.95) for one, log in zip(found, true, strict=True)
        )
    assert 0.02 < missed / (60 * len(points)) < 0.08


def test_what_lies_far_above_the_others_is_odd() -> None:
    means = {(size, use): -0.2 for size in SIZES for use in USES}
    means[SIZES[4], "stream"] = 0.4
    (found,) = estimates([cells(means, 0.03**2)])
    odd = [key for key, one in zip(means, found, strict=True) if one.odd]
    assert odd == [(SIZES[4], "stream")]


def test_wild_candidates_say_less_of_their_neighbours() -> None:
    rng = np.random.default_rng(3)
    calm = {(size, use): -0.2 for size in SIZES for use in USES}
    wild = {key: float(rng.normal(-0.2, 0.6)) for key in calm}
    (steady,), (rough,) = (estimates([cells(means, 0.05**2)]) for means in (calm, wild))
    assert max(one.error for one in steady) < min(one.error for one in rough)


def test_the_mean_of_several_pays_for_errors_that_may_be_the_same() -> None:
    assert CurveEstimate.of_several(
        [CurveEstimate(0.1, 0.2), CurveEstimate(0.3, 0.4, odd=True)]
    ) == CurveEstimate(pytest.approx(0.2), pytest.approx(0.3))
