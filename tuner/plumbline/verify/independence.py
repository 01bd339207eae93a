"""Are the launches of a table independent of each other? The lag-1 autocorrelation of the log
ratios: does a launch resemble the one before it?

The test of a verdict takes launches for independent; where they are not, equal sides are called
different far more often than alpha says (docs/design/verification.md). Sources: bias of the
coefficient in short series: Marriott and Pope, Biometrika 41 (1954); Kendall, Biometrika 41 (1954);
that of ranks, and its permutation test: Wald and Wolfowitz, Annals of Mathematical Statistics 14
(1943). Pure: arrays in, numbers out; no clock, file or database."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from plumbline.verify.significance.comparison import TIE_DIGITS
from plumbline.verify.significance.distributions import doubled_midranks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

from itertools import combinations

from plumbline.verify.significance.distributions import student_quantile

# The distance between campaigns, in terms of what the launches of one campaign say.
# Launches of an hour share states of the machine (placement of pages, frequency, other work), so
# that the interval of a ratio is too narrow for another hour. As the scale factor of combined
# measurements in metrology (Birge, Physical Review 40 (1932)), but by a quantile: what counts is
# that intervals contain what another campaign finds as often as they say. Pure: numbers in, numbers
# out.

_LEAST_CELLS = 20  # of a 95 % quantile
_COVERAGE = 0.95


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
    if len(both) < _LEAST_CELLS:
        reason = f"{len(both)} cells with two campaigns, {_LEAST_CELLS} are needed"
        return CampaignSpread(None, campaigns, len(both), reason)
    beyond = [
        abs(a.log_ratio - b.log_ratio)
        / math.hypot(a.error, b.error)
        / _quantile(_COVERAGE, a.freedom + b.freedom)
        for cell in both
        for a, b in combinations(cell, 2)
    ]
    factor = max(1.0, _share_below(beyond, _COVERAGE))
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


# From this coefficient on, equal tables have false violations 2.5 times (50 cells) to 5 times (645
# cells) as often as with independent launches.
HIGH = 0.1
ALPHA = 0.01  # of a warning where launches are independent
LEAST_LAUNCHES = 6  # of a cell; fewer say nothing after the correction of their bias
PERMUTATIONS = 999


class Dependence(msgspec.Struct, frozen=True):
    """`value`: lag-1 autocorrelation of the ranks of per-launch log ratios, over all cells, without
    the bias of short series; `error`: its standard deviation if launches are independent; `p`: the
    share of orders of the launches that give as much or more. None where nothing can be said:
    `reason`. Of `cells` cells and `launches` launches."""

    value: float | None
    error: float | None
    p: float | None
    launches: int
    cells: int
    reason: str

    @property
    def high(self) -> bool:
        """So much, and so surely, that violations must not be believed as they are."""
        return (
            self.value is not None and self.p is not None and self.value > HIGH and self.p < ALPHA
        )


class _Part(msgspec.Struct, frozen=True):
    """Cells that were measured in the same launches: `places` of these among all launches; entry
    (i, j) of `products` is the sum over the cells of the products of their standard scores there,
    times the weight of a cell, the number of its launches."""

    places: NDArray[np.intp]
    products: NDArray[np.float64]
    cells: int


def lag_one(cells: Sequence[Mapping[int, float]], *, seed: int = 0) -> Dependence:
    """`cells`: of each cell the log ratios by the number of the launch; numbers grow with time. A
    cell may be missing in some launches: then those that it has follow each other. Cells share
    launches, so that chance is judged by other orders of the launches, the same ones for all cells.

    Ranks, because the test of a verdict looks at ranks, and an outlier would drown all other
    launches of its cell."""
    launches = sorted({launch for cell in cells for launch in cell})
    long = [cell for cell in cells if len(cell) >= LEAST_LAUNCHES]
    parts = _parts(long, launches) if long else []
    used = sum(part.cells for part in parts)
    if not parts:
        reason = f"no cell has {LEAST_LAUNCHES} launches that differ"
        return Dependence(None, None, None, len(launches), 0, reason)
    import numpy as np

    rng = np.random.default_rng(seed)
    orders = np.tile(np.arange(len(launches)), (1 + PERMUTATIONS, 1))
    orders[1:] = rng.permuted(orders[1:], axis=1)
    value, *others = _pooled(parts, orders).tolist()
    p = sum(other_value >= value - 1e-12 for other_value in (value, *others)) / (1 + PERMUTATIONS)
    return Dependence(value, float(np.std(others)), p, len(launches), used, "")


def _parts(cells: Sequence[Mapping[int, float]], launches: Sequence[int]) -> list[_Part]:
    import numpy as np

    place = {launch: number for number, launch in enumerate(launches)}
    groups: dict[tuple[int, ...], list[NDArray[np.float64]]] = {}
    for cell in cells:
        order = sorted(cell)
        ranks = doubled_midranks(np.round([cell[launch] for launch in order], TIE_DIGITS))
        scores = ranks - ranks.mean()
        length = math.sqrt(float(scores @ scores))
        if length > 0:
            groups.setdefault(tuple(place[position] for position in order), []).append(
                scores / length
            )
    return [
        _Part(np.array(places), len(places) * (rows.T @ rows), len(rows))
        for places, rows in ((places, np.array(scores)) for places, scores in groups.items())
    ]


def _pooled(parts: Sequence[_Part], times: NDArray[np.intp]) -> NDArray[np.float64]:
    """The mean over the cells, each with the weight n of its launches, of r + 1/n, over what that
    is for a coefficient of 1: r of n independent values is -1/n on average, that of a series with
    coefficient ρ is about ρ - (1 + 4ρ)/n. `times`: when each launch was, a row an answer."""
    import numpy as np

    sums = np.zeros(len(times))
    for part in parts:
        order = np.argsort(times[:, part.places], axis=1)
        sums += part.products[order[:, :-1], order[:, 1:]].sum(axis=1) + part.cells
    return sums / sum(part.cells * (len(part.places) - 4) for part in parts)
