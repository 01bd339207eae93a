"""Exact null distributions of the rank statistics, as counts of equally likely outcomes.

Ranks are doubled, so that mid-ranks of ties are integers. Counting is by dynamic programming, exact
in 64-bit integers within the limits below; results are cached, because hundreds of cells share the
ranks 1..n. Source: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods", 3rd ed.,
sections 3.1 and 4.1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SIGNED_RANK_LIMIT = 50  # 2^50 outcomes fit into 64 bits
RANK_SUM_LIMIT = 60  # so do the C(60, 30) subsets

Counts: TypeAlias = "NDArray[np.int64]"


@lru_cache(maxsize=4096)
def signed_rank_counts(doubled_ranks: tuple[int, ...]) -> Counts:
    """counts[s]: sign patterns in which the doubled ranks with a plus sign add up to s.

    Cost: n vector additions over n(n + 1) sums. At most SIGNED_RANK_LIMIT ranks."""
    import numpy as np

    if len(doubled_ranks) > SIGNED_RANK_LIMIT:
        raise ValueError(f"{len(doubled_ranks)} ranks are too many to count")
    counts = np.zeros(sum(doubled_ranks) + 1, dtype=np.int64)
    counts[0] = 1
    for rank in doubled_ranks:
        shifted = counts[:-rank].copy()
        counts[rank:] += shifted
    counts.setflags(write=False)
    return counts


@lru_cache(maxsize=256)
def rank_sum_counts(doubled_ranks: tuple[int, ...], size: int) -> Counts:
    """counts[s]: subsets of `size` of the doubled ranks that add up to s."""
    import numpy as np

    if len(doubled_ranks) > RANK_SUM_LIMIT:
        raise ValueError(f"{len(doubled_ranks)} ranks are too many to count")
    counts = np.zeros((size + 1, sum(doubled_ranks) + 1), dtype=np.int64)
    counts[0, 0] = 1
    for rank in doubled_ranks:
        shifted = counts[:-1, :-rank].copy()
        counts[1:, rank:] += shifted
    result: Counts = counts[size].copy()
    result.setflags(write=False)
    return result


@lru_cache(maxsize=4096)
def upper_tail(doubled_ranks: tuple[int, ...], doubled_sum: int) -> float:
    """P(sum of the ranks with a plus sign ≥ observed), conditional on the ranks."""
    counts = signed_rank_counts(doubled_ranks)
    return float(counts[doubled_sum:].sum()) / float(2 ** len(doubled_ranks))


@lru_cache(maxsize=256)
def signed_rank_order(n: int, tail: float) -> int:
    """Largest k with P(T ≤ k - 1) ≤ tail for the signed-rank statistic T of n untied values:
    the k-th smallest Walsh average bounds the location with that error. 0: there is none."""
    counts = signed_rank_counts(tuple(range(2, 2 * n + 1, 2)))[::2]
    return _order(counts, tail)


@lru_cache(maxsize=256)
def rank_sum_order(left: int, right: int, tail: float) -> int:
    """The same for the Mann-Whitney statistic U and the ordered differences of two samples."""
    ranks = tuple(range(2, 2 * (left + right) + 1, 2))
    counts = rank_sum_counts(ranks, left)[left * (left + 1) :: 2]
    return _order(counts, tail)


def _order(counts: Counts, tail: float) -> int:
    import numpy as np

    below = np.cumsum(counts) / counts.sum()
    return int(np.searchsorted(below, tail, side="right"))


def doubled_midranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value, ties sharing the mean of their ranks."""
    import numpy as np

    order = values.argsort()
    ordered = values[order]
    if (ordered[1:] != ordered[:-1]).all():
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[order] = np.arange(2, 2 * len(values) + 1, 2)
        return ranks
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    doubled = 2 * (np.cumsum(counts) - counts) + counts + 1
    return np.asarray(doubled[inverse], dtype=np.int64)
