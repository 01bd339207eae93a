"""The ratios that the ranks of a cell have seen: where every rank takes its time, the least, the
middle and the largest of their ratios. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from plumbline.overlap.suite import OverlapResult


class RankSpread(msgspec.Struct, frozen=True):
    """The spread of one cell, by ratio: `median` is the lower of the two in the middle where their
    number is even. Of `ranks` only those count that are `clear`, whose times do not scatter too
    much to say anything; where none are, all of them."""

    low: OverlapResult
    median: OverlapResult
    high: OverlapResult
    ranks: int
    clear: int


def spreads(cells: Sequence[OverlapResult]) -> list[RankSpread]:
    """A spread for each cell that has a ratio on some rank, in the order of benchmarks, sizes,
    work and threads."""
    with_ratio = [cell for cell in cells if cell.ratio is not None]
    place = {
        bench: at for at, bench in enumerate(dict.fromkeys(result.bench for result in with_ratio))
    }

    def key(result: OverlapResult) -> tuple[int, int, int, int]:
        return place[result.bench], result.bytes, result.work_ns, result.threads

    grouped = itertools.groupby(sorted(with_ratio, key=key), key)
    return [_spread(list(members)) for _, members in grouped]


def _spread(ranks: Sequence[OverlapResult]) -> RankSpread:
    clear = [rank for rank in ranks if rank.ratio and not rank.ratio.noisy]
    by_ratio = sorted(clear or ranks, key=_value)
    middle = by_ratio[(len(by_ratio) - 1) // 2]
    return RankSpread(by_ratio[0], middle, by_ratio[-1], len(ranks), len(clear))


def apart(spread: RankSpread) -> float:
    """Return how far the ratios of the ranks lie apart."""
    return _value(spread.high) - _value(spread.low)


def _value(result: OverlapResult) -> float:
    return result.ratio.value if result.ratio else 0.0


def text(spread: RankSpread) -> str:
    """Return it for a table: the median and, of several ranks, the least and the largest; `~` where
    no more than half of them say anything."""
    if 2 * spread.clear <= spread.ranks:
        return "~"
    middle = f"{_value(spread.median):.1f}"
    if spread.ranks == 1:
        return middle
    return f"{middle} ({_value(spread.low):.1f}…{_value(spread.high):.1f})"
