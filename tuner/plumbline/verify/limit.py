"""Is a ratio above a limit? The test of a violation and of harm: not whether the left side is
slower at all, but whether it is slower by more than is allowed.

Pure: arrays in, `Comparison` out; no clock, file or database."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import msgspec

from plumbline.verify.corrections import benjamini_hochberg
from plumbline.verify.significance.comparison import Comparison
from plumbline.verify.significance.moderated import moderated
from plumbline.verify.significance.signed_rank import paired_ratio

Key = TypeVar("Key")
# Log ratios, one a launch, and the confidence of the interval.
Compare = Callable[[Sequence[float], float], Comparison]
# How a cell is compared, once the log ratios of all comparable cells are known.
Judge = Callable[[Collection[Sequence[float]]], Compare]


def above(
    log_ratios: Sequence[float],
    limit: float,
    confidence: float = 0.95,
    compare: Compare = paired_ratio,
) -> Comparison:
    """`compare` of per-launch log ratios, with the p of "the ratio is above `limit`": that of what
    they are above log(limit). Ratio and interval are those of the ratio itself."""
    found = compare(log_ratios, confidence)
    if limit == 1:
        return found
    level = math.log(limit)
    return msgspec.structs.replace(
        found, p=compare([ratio - level for ratio in log_ratios], confidence).p
    )


def slower(
    log_ratios: Mapping[Key, Sequence[float]],
    limit: float,
    alpha: float,
    judge: Judge = moderated,
) -> dict[Key, Comparison]:
    """Of cells that are looked at once those whose ratio is above `limit`, at a false discovery
    rate of `alpha` (Benjamini-Hochberg over the cells). Cells without log ratios are no cells."""
    compare = judge(list(log_ratios.values()))
    found = {key: above(logs, limit, 0.95, compare) for key, logs in log_ratios.items() if logs}
    adjusted = benjamini_hochberg([comparison.p for comparison in found.values()]).tolist()
    return {
        key: comparison
        for (key, comparison), p in zip(found.items(), adjusted, strict=True)
        if p < alpha and comparison.ratio > limit
    }
