"""The distance between campaigns, in terms of what the launches of one campaign say.

Launches of an hour share states of the machine (placement of pages, frequency, other work), so that
the interval of a ratio is too narrow for another hour. As the scale factor of combined measurements
in metrology (Birge, Physical Review 40 (1932)), but by a quantile: what counts is that intervals
contain what another campaign finds as often as they say. Pure: numbers in, numbers out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import msgspec

from plumbline.verify.significance.distributions import student_quantile

LEAST_CELLS = 20  # of a 95 % quantile
COVERAGE = 0.95


class Estimate(msgspec.Struct, frozen=True):
    """A cell in one campaign: its log ratio, and the standard error that its launches say, with as
    many degrees of freedom."""

    log_ratio: float
    error: float
    freedom: float


class CampaignSpread(msgspec.Struct, frozen=True):
    """`factor`: intervals of one campaign must be so many times as wide, 1 at least (None: not
    known, `reason`). From cells that `campaigns` campaigns have both measured."""

    factor: float | None
    campaigns: int
    cells: int
    reason: str


def estimate(
    ratio: float, low: float, high: float, confidence: float, freedom: float
) -> Estimate | None:
    """Return the estimate from a ratio and its interval; None where the interval has no width."""
    width = math.log(high / low)
    if width <= 0 or freedom <= 0:
        return None
    return Estimate(math.log(ratio), width / 2 / _quantile(confidence, freedom), freedom)


def between_campaigns(cells: Sequence[Sequence[Estimate]]) -> CampaignSpread:
    """`cells`: of each cell its estimates, one a campaign. Where launches say all there is to know,
    the difference of two campaigns over its standard error follows Student's t, and 95 % of the
    differences lie within its quantile; the factor is by how much they lie beyond."""
    both = [cell for cell in cells if len(cell) > 1]
    campaigns = max((len(cell) for cell in cells), default=0)
    if campaigns < 2:
        return CampaignSpread(None, campaigns, len(both), "one campaign")
    if len(both) < LEAST_CELLS:
        reason = f"{len(both)} cells with two campaigns, {LEAST_CELLS} are needed"
        return CampaignSpread(None, campaigns, len(both), reason)
    beyond = [
        abs(a.log_ratio - b.log_ratio)
        / math.hypot(a.error, b.error)
        / _quantile(COVERAGE, a.freedom + b.freedom)
        for cell in both
        for a, b in combinations(cell, 2)
    ]
    factor = max(1.0, _share_below(beyond, COVERAGE))
    return CampaignSpread(factor, campaigns, len(both), "")


def _share_below(values: Sequence[float], share: float) -> float:
    """Return the quantile of some values, between two of them on the line through both. Without
    numpy, whose import takes longer than a command that only reads may."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def widened(middle: float, low: float, high: float, factor: float) -> tuple[float, float]:
    """The interval of a ratio, `factor` times as wide on the logarithms, around the same ratio."""
    return middle * (low / middle) ** factor, middle * (high / middle) ** factor


def _quantile(confidence: float, freedom: float) -> float:
    return student_quantile(freedom, 0.5 + confidence / 2)
