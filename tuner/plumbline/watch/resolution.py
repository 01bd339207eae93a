"""What can be seen of a cell: the smallest change that is found in time, whatever its noise is."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from plumbline.watch import chart
from plumbline.watch.baseline import LEAST_SCALE, Baseline
from plumbline.watch.design import Design
from plumbline.watch.run_length import found_within

IN_CANARIES, SHARE = 6, 0.95
LARGEST_SEEN = 10.0  # a factor; whoever does not see ten times as slow sees nothing


def found_change(
    design: Design, baseline: Baseline, canaries: int = IN_CANARIES, share: float = SHARE
) -> float:
    """The smallest slow-down (0.1: ten per cent) that is found within so many canaries in this
    share of cases, by the noise that the cell's scale stands for; infinity: none."""
    references = chart.references(np.array([baseline.scale]))
    (reference,), (limit,) = references, chart.thresholds(design, references)

    def found(log: float) -> bool:
        shift = log / baseline.scale - baseline.middle_error
        return found_within(reference, limit, canaries, shift) >= share

    low, high = 0.0, math.log(LARGEST_SEEN)
    if not found(high):
        return math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return math.expm1(high)


@lru_cache
def largest_scale(design: Design, change: float = 0.1) -> float:
    """Of cells in which this slow-down is found so; cells that are wider need more launches in a
    canary: four times as many halve a scale, where launches differ as normal noise does."""
    low, high = LEAST_SCALE, 1.0
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        seen = found_change(design, Baseline(0.0, middle, design.learning)) <= change
        low, high = (middle, high) if seen else (low, middle)
    return low
