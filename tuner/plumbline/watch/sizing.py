"""The changes that can be seen of a cell: the smallest change that is found in time, whatever its
noise is; and in how many launches of a canary a cell takes part: as many as its own noise asks for,
so that a slow-down of ten per cent is found in time there too. Quiet cells get by with few."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from plumbline.watch.chart import LEAST_SCALE, Baseline, baseline_of, found_within
from plumbline.watch.design import LEAST_LEARNING, DetectorDesign
from plumbline.watch.state import CellState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]


IN_CANARIES, SHARE = 6, 0.95
LARGEST_SEEN = 10.0  # a factor; whoever does not see ten times as slow sees nothing


def found_change(design: DetectorDesign, baseline: Baseline) -> float:
    """The smallest slow-down (0.1: ten per cent) that is found within IN_CANARIES canaries in this
    SHARE of cases, by the noise that the cell's scale stands for; infinity: none."""

    import numpy as np

    from plumbline.watch import chart

    references = chart.references(np.array([baseline.scale]))
    (reference,), (limit,) = references, chart.thresholds(design, references)

    def found(log: float) -> bool:
        shift = log / baseline.scale - baseline.middle_error
        return found_within(reference, limit, IN_CANARIES, shift) >= SHARE

    low, high = 0.0, math.log(LARGEST_SEEN)
    if not found(high):
        return math.inf
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return math.expm1(high)


@lru_cache
def largest_scale(design: DetectorDesign, change: float = 0.1) -> float:
    """Return that of cells in which this slow-down is found so; cells that are wider need more
    launches in a canary: four times as many halve a scale, where launches differ as normal noise
    does."""
    low, high = LEAST_SCALE, 1.0
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        is_found = found_change(design, Baseline(0.0, middle, design.learning)) <= change
        low, high = (middle, high) if is_found else (low, middle)
    return low


def steps(design: DetectorDesign) -> list[int]:
    """Numbers of launches that cells have: twice as many each time, so that few plans do for all
    cells of a canary."""
    most = max(design.launches, design.launches_max)
    doublings = math.ceil(math.log2(most / design.launches))
    return [*(design.launches * 2**n for n in range(doublings)), most]


def launches_of(design: DetectorDesign, state: CellState) -> int:
    """Return those by which a cell is judged: the first ones of a canary."""
    return min(max(state.launches, design.launches), steps(design)[-1])


def sized(design: DetectorDesign, launches: Counts, scales: NDArray[np.float64]) -> Counts:
    """Launches that cells need which have these scales with so many; never fewer than they have.
    A scale falls with the root of their number."""

    import numpy as np

    every = np.array(steps(design))
    needed_launches = launches * (scales / largest_scale(design)) ** 2
    at = np.minimum(np.searchsorted(every, needed_launches), len(every) - 1)
    return np.asarray(np.maximum(launches, every[at]))


def resized(design: DetectorDesign, state: CellState) -> CellState:
    """After its first canaries, and at the end of its learning, a cell that is too noisy gets more
    launches, and learns anew by them; as often as it takes."""

    import numpy as np

    looks = (LEAST_LEARNING, design.learning)
    if state.baseline is not None or len(state.learning) not in looks:
        return state
    launches, scale = launches_of(design, state), baseline_of(state.learning).scale
    (needed,) = sized(design, np.array([launches]), np.array([scale])).tolist()
    return state if needed == launches else CellState(launches=needed)
