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
from plumbline.verify.significance.null_distributions import doubled_midranks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
