"""The spread between campaigns: what is planted between them is found, and nothing where launches
say all there is to know."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from plumbline.verify import decision
from plumbline.verify.decision import Claim, HypothesisFamily
from plumbline.verify.independence import Estimate, between_campaigns, estimate, widened
from plumbline.verify.significance.signed_rank import paired_ratio
from tests.verify.simulated import first

LOOKS = decision.design_over(9, 30)
CELLS = 300


def campaign(rng: np.random.Generator, planted: float) -> list[Estimate]:
    """All cells look by look, as a table has them. Between campaigns a cell moves by `planted`
    standard errors of 12 launches."""
    spread = 0.01
    centre = planted * spread / math.sqrt(12) * rng.standard_normal(CELLS)
    logs = centre[:, None] + spread * rng.standard_normal((CELLS, 30))
    family = HypothesisFamily.of(range(CELLS), Claim(tolerance=0.05, design=LOOKS))
    for launches in LOOKS.launches:
        family.look(partial(first, logs, launches))
    found = []
    for (one,) in family.cells:
        known = one.comparison
        assert known is not None and known.low is not None and known.high is not None
        confidence = LOOKS.confidence(LOOKS.launches.index(known.n), 0.05)
        made = estimate(known.ratio, known.low, known.high, confidence, known.freedom)
        assert made is not None
        found.append(made)
    return found


def factor(planted: float, campaigns: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    every = [campaign(rng, planted) for _ in range(campaigns)]
    found = between_campaigns(list(zip(*every, strict=True)))
    assert (found.campaigns, found.cells, found.reason) == (campaigns, CELLS, "")
    assert found.factor is not None
    return found.factor


@pytest.mark.parametrize("campaigns", [2, 4])
def test_where_launches_say_everything_nothing_is_widened(campaigns: int) -> None:
    assert factor(0.0, campaigns, 1) == pytest.approx(1, abs=0.01)


def test_a_planted_spread_is_found() -> None:
    """Of 9 launches, which is what most cells have, 2 standard errors of 12 launches are 1.73:
    together with the launches' own, 2. It is less by as much as the intervals of 9 launches, order
    statistics, are wider than those of normal noise need be."""
    found = [factor(2.0, 2, seed) for seed in range(4)]
    assert 1.6 < np.mean(found) < 2.1


def test_widened_intervals_contain_what_another_campaign_finds() -> None:
    """The difference to the truth, in 95 % of the cells, where the plain interval does not."""
    rng = np.random.default_rng(7)
    every = [campaign(rng, 2.5) for _ in range(3)]
    width = between_campaigns(list(zip(*every[:2], strict=True))).factor
    assert width is not None
    errors = np.array([[one.log_ratio / one.error, one.freedom] for one in every[2]])
    from scipy.stats import t

    limit = t.ppf(0.975, errors[:, 1])
    assert np.mean(np.abs(errors[:, 0]) <= limit) < 0.75
    assert 0.92 < np.mean(np.abs(errors[:, 0]) <= width * limit) < 0.99


def test_the_error_is_that_of_the_interval() -> None:
    """Of normal log ratios, about their standard deviation over the root of their number."""
    logs = np.random.default_rng(3).normal(0.1, 0.02, 30)
    found = paired_ratio(logs, 0.95)
    assert found.low is not None and found.high is not None
    known = estimate(found.ratio, found.low, found.high, 0.95, 29)
    assert known is not None and known.freedom == 29
    assert known.error == pytest.approx(logs.std(ddof=1) / math.sqrt(30), rel=0.25)


def test_what_is_not_known_has_a_reason() -> None:
    one = Estimate(0.0, 0.01, 8)
    assert between_campaigns([]).reason == "one campaign"
    assert between_campaigns([[one]] * 30).reason == "one campaign"
    few = between_campaigns([[one, one]] * 19 + [[one]] * 30)
    assert (few.factor, few.campaigns, few.cells) == (None, 2, 19)
    assert few.reason == "19 cells with two campaigns, 20 are needed"
    assert between_campaigns([[one, one]] * 20).factor == 1
    assert estimate(1.1, 1.1, 1.1, 0.95, 8) is None and estimate(1.1, 1.0, 1.2, 0.95, 0) is None


def test_widening_is_on_the_logarithms_around_the_same_ratio() -> None:
    assert widened(2.0, 1.0, 4.0, 1.0) == (1.0, 4.0)
    assert widened(2.0, 1.0, 4.0, 2.0) == pytest.approx((0.5, 8.0))
    assert widened(1.2, 1.2, 1.3, 1.5) == pytest.approx((1.2, 1.2 * (1.3 / 1.2) ** 1.5))
