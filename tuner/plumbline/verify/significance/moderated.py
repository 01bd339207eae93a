"""A t test on log ratios, one a launch, whose variance is moderated by those of comparable cells.

A few launches say little about how much a cell varies, but hundreds of cells of a table say much
about how much cells vary. Their variances are taken for draws from a scaled inverse chi-squared
distribution (`VariancePool`); what it says about a cell counts like `freedom` launches more (G. K.
Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004), article 3). From ten
launches on, the mean is trimmed, as launches have outliers (J. W. Tukey and D. H. McLaughlin,
Sankhya A 25 (1963)). Why, what it saves and where it is tried: docs/design/verification.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from plumbline.verify.significance import distributions
from plumbline.verify.significance.comparison import (
    TIE_DIGITS,
    Comparison,
    finite,
    ratio_of,
)
from plumbline.verify.significance.signed_rank import paired_ratio

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TRIMMED = 10  # one of so many launches is left out at either end
# With fewer variances than this, nothing can be concluded about other cells.
LEAST_CELLS = 20
# The pool counts as at most so many launches, however similar variances are, because noise has
# heavier tails than a normal distribution.
MOST_FREEDOM = 10.0
_ROUNDING = 10.0 ** (-2 * TIE_DIGITS)  # a smaller variance is none


class VariancePool(msgspec.Struct, frozen=True):
    """The knowledge of cells of a table about the variance of log ratios of one: `variance` of one
    launch, worth `freedom` degrees of freedom."""

    variance: float
    freedom: float


NO_POOL = VariancePool(0.0, 0.0)


def moderated(
    groups: Collection[Sequence[float]],
) -> Callable[[Sequence[float], float], Comparison]:
    """Return the comparison of one cell, (log ratios, confidence) -> Comparison, that borrows from
    the log ratios of all cells, `groups`; `paired_ratio`, where these are too few."""
    pool = pool_of(groups)
    return partial(moderated_ratio, pool=pool) if pool else paired_ratio


def pool_of(groups: Collection[Sequence[float]]) -> VariancePool | None:
    """Fit the distribution of variances by the moments of their logarithms (Smyth, section 6.2).
    None: fewer than LEAST_CELLS cells have a variance."""
    spreads = [_spread(logs) for logs in groups if logs]
    variances = [
        (spread_of_cell.variance, spread_of_cell.freedom / 2)
        for spread_of_cell in spreads
        if spread_of_cell.variance > _ROUNDING
    ]
    if len(variances) < LEAST_CELLS:
        return None
    levels = [
        math.log(variance) - distributions.digamma(half) + math.log(half)
        for variance, half in variances
    ]
    middle = math.fsum(levels) / len(levels)
    spread = math.fsum((level - middle) ** 2 for level in levels) / (len(levels) - 1)
    spread -= math.fsum(distributions.trigamma(half) for _, half in variances) / len(variances)
    half = MOST_FREEDOM / 2
    if spread > distributions.trigamma(half):
        half = distributions.trigamma_inverse(spread)
    return VariancePool(math.exp(middle + distributions.digamma(half) - math.log(half)), 2 * half)


def moderated_ratio(
    log_ratios: ArrayLike, confidence: float = 0.95, *, pool: VariancePool
) -> Comparison:
    """Compares per-launch log ratios, log(left) - log(right), with zero; p is that of "left takes
    longer". The ratio is that of their trimmed mean, interval and p are of Student's t with the
    degrees of freedom of the launches and of the pool."""
    values = finite(log_ratios, "log ratios").tolist()
    centre, error, freedom = moderated_mean(values, pool)
    half = error * distributions.student_quantile(freedom, (1 + confidence) / 2)
    return Comparison(
        ratio=ratio_of(centre),
        low=ratio_of(centre - half),
        high=ratio_of(centre + half),
        p=distributions.student_above(freedom, centre / error),
        n=len(values),
        reason="",
        freedom=freedom,
    )


def moderated_mean(values: Sequence[float], pool: VariancePool) -> tuple[float, float, float]:
    """Return the trimmed mean, its standard error, and the degrees of freedom of that."""
    own = _spread(values)
    freedom = own.freedom + pool.freedom
    variance = (own.freedom * own.variance + pool.freedom * pool.variance) / freedom
    return own.centre, math.sqrt(variance / len(values)), freedom


class _Spread(msgspec.Struct, frozen=True):
    """The trimmed mean of some launches; the `variance` of one launch that fits its standard error
    (0: of one launch nothing is known); and the degrees of `freedom` of that."""

    centre: float
    variance: float
    freedom: int


def _spread(values: Sequence[float]) -> _Spread:
    ordered, n = sorted(values), len(values)
    cut = n // TRIMMED
    inner = ordered[cut : n - cut]
    centre = math.fsum(inner) / len(inner)
    freedom = len(inner) - 1
    if freedom == 0:
        return _Spread(centre, 0.0, 0)
    winsorised = [*[inner[0]] * cut, *inner, *[inner[-1]] * cut]
    mean = math.fsum(winsorised) / n
    squares = math.fsum((value - mean) ** 2 for value in winsorised)
    return _Spread(centre, squares / freedom * n / len(inner), freedom)
