"""The state of a watched cell between canaries, and the changes that can be seen of it: the
smallest change that is found in time, whatever the cell's noise is; and in how many launches of a
canary the cell takes part: as many as its noise needs for a slow-down of ten per cent to be found
in time."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.watch.chart import (
    LEAST_LEARNING,
    LEAST_SCALE,
    Baseline,
    DetectorDesign,
    baseline_of,
    found_within,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

_Direction = Literal["slower", "faster"]


class Cusum(msgspec.Struct, frozen=True):
    """A sum, and the canaries since it last was 0: Page's estimate of when a change began.
    `logs`: what these lay off the middle, added up."""

    sum: float = 0.0
    canaries: int = 0
    logs: float = 0.0

    def after(self, total: float, log: float) -> Cusum:
        if total <= 0:
            return Cusum()
        return Cusum(total, self.canaries + 1, self.logs + log)

    @property
    def ratio(self) -> float:
        """The ratio of the times since then to those that were learnt; 1: nothing stands against
        it."""
        return math.exp(self.logs / self.canaries) if self.canaries else 1.0


class CellState(msgspec.Struct, frozen=True):
    """`learning`: log ratios so far, until the baseline is there; a new cell is `CellState()`.
    `launches`: of a canary, that it asks for (0: as few as the design has)."""

    learning: tuple[float, ...] = ()
    baseline: Baseline | None = None
    slower: Cusum = Cusum()
    faster: Cusum = Cusum()
    launches: int = 0

    def known(self) -> Baseline | None:
        """The baseline, or what it looks like so far; None: it is too early to say."""
        if self.baseline is None and len(self.learning) >= LEAST_LEARNING:
            return baseline_of(self.learning)
        return self.baseline

    def learnt_so_far(self) -> CellState:
        """Learning ends here: with a baseline, where it is not too early; else it begins anew."""
        if self.baseline is not None:
            return self
        return CellState((), self.known(), launches=self.launches)

    def rested(self) -> CellState:
        """Nothing stands against it: after an alarm that others have refuted. After one that was
        confirmed the cell is another one, and begins anew as `CellState()`."""
        return CellState(self.learning, self.baseline, launches=self.launches)


class Alarm(msgspec.Struct, frozen=True):
    """A candidate: `ratio` of the cell's times in the last `canaries` to those before, as far as
    these few say."""

    direction: _Direction
    ratio: float
    canaries: int


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
    """Return the largest scale of cells in which this slow-down is found in time; cells with a
    larger scale need more launches in a canary: four times as many halve a scale, where launches
    differ as normal noise does."""
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
    """Return the number of launches by which a cell is judged: the first ones of a canary."""
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
