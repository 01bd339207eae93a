"""The CUSUM of a cell: its reference, its threshold, and a step of its sums. Arrays, a value a
cell; in scales of the cell.

A sum gathers what lies beyond half of the change that is looked for, where it gathers fastest
(Lorden 1971; Moustakides, Annals of Statistics 14 (1986): no other rule finds it sooner). That
change is as small as the cell's noise lets be found in some canaries, and between SMALLEST and
LARGEST where it can be.

The state of a watched cell is kept between canaries. How many launches of a canary the cell takes
part in follows from its noise: as many as a slow-down of ten per cent needs to be found in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import msgspec

from plumbline.verify.significance.distributions import student4_below, student_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Vector = NDArray[np.float64]
    _Matrix = NDArray[np.float64]
    Counts = NDArray[np.int64]


_HOURLY_30_DAYS = 30 * 24
_SIDES = 2  # slower, faster
# Fewer canaries are too few to estimate a cell's noise.
LEAST_LEARNING = 20


class DetectorDesign(msgspec.Struct, frozen=True):
    """A promise: at most `false_alarms` on average in `canaries` canaries of all `cells` together,
    slower and faster, references included. `learning`: canaries before a cell is watched. A cell
    takes part in `launches` of a canary at least, a noisy one in `launches_max` at most
    (`launches_of`). Stored beside the states: with another design they are not the same states."""

    cells: int
    canaries: int = _HOURLY_30_DAYS
    false_alarms: float = 1.0
    learning: int = 72
    launches: int = 1
    launches_max: int = 1

    def __post_init__(self) -> None:
        if min(self.cells, self.canaries, self.launches) < 1:
            raise ValueError("a design needs at least one cell, one canary and one launch")
        if not 0 < self.false_alarms < math.inf:
            raise ValueError(f"{self.false_alarms} false alarms cannot be promised")
        if self.learning < LEAST_LEARNING:
            raise ValueError(
                f"{self.learning} canaries are too few to learn the noise: use at least "
                f"{LEAST_LEARNING}"
            )

    @property
    def run_length(self) -> float:
        """Canaries of one cell to a false alarm of one side, on average."""
        return _SIDES * self.cells * self.canaries / self.false_alarms


# Quantiles of |value - middle| at which the noise must not exceed what the scale implies.
LEVELS = (0.5, 0.75, 0.9, 0.95)
LEAST_SCALE = 0.005  # what repeats itself to the digit changes by rounding, too
# The standard error of a middle, in scales, times the root of the number of canaries. The value for
# a scale is half of it, as covering all levels widens the scale (by a tenth after 72 canaries).
_MIDDLE_ERROR, _SCALE_MARGIN = 1.35, 0.5


class Baseline(msgspec.Struct, frozen=True):
    """`middle`: a log ratio. `scale`: of Student's t with FREEDOM degrees of freedom, whose tails
    are heavier than those of what was learnt. `canaries`: how many it was learnt from."""

    middle: float
    scale: float
    canaries: int

    @property
    def middle_error(self) -> float:
        """Standard error of the middle, in scales."""
        return _MIDDLE_ERROR / math.sqrt(self.canaries)


def baseline_of(logs: Sequence[float]) -> Baseline:
    """Return the baseline of one cell: log ratios, one a canary."""
    return baselines_of([logs])[0]


def baselines_of(logs: Sequence[Sequence[float]]) -> list[Baseline]:
    """Return the baselines of cells that were learnt together: the log ratios of each, one a
    canary."""
    import numpy as np

    middles, scales = learn(np.array(logs).T, together=True)
    canaries = len(logs[0])
    return [
        Baseline(float(middle), float(scale), canaries)
        for middle, scale in zip(middles, scales, strict=True)
    ]


def learn(values: ArrayLike, *, together: bool = False) -> tuple[Vector, Vector]:
    """Middles and scales of cells: `values` are log ratios, a row a canary and a column a cell.
    `together`: of cells of one machine, whose memory is taken for that of each, too.

    The scale is the smallest one whose tails cover those of the values at all LEVELS, and a margin:
    one that is too small by chance costs more false alarms than one that is too large saves (what
    estimates do to charts: Jensen et al., Journal of Quality Technology 38 (2006))."""
    import numpy as np

    every = np.atleast_2d(np.asarray(values, dtype=np.float64))
    canaries = len(every)
    middles = np.median(every, axis=0)
    distances = np.sort(np.abs(every - middles), axis=0)
    levels = np.array(LEVELS)
    at = np.ceil(levels * canaries).astype(int) - 1
    usual = np.array([student_quantile(FREEDOM, (1 + level) / 2) for level in LEVELS])
    covered = distances[at] / usual[:, None]
    scales = covered.max(axis=0) * (1 + _SCALE_MARGIN / math.sqrt(canaries))
    scales = np.maximum(scales, LEAST_SCALE)
    return middles, scales * _remembered((every - middles) / scales, together=together)


def _remembered(values: Vector, *, together: bool) -> Vector:
    """Return how much wider sums of values lie that follow each other than sums of values that know
    nothing of each other: by the correlation of neighbours, as far as it is more than chance (a
    standard error), and as if it went on (Johnson and Bagshaw, Technometrics 16 (1974)). One cell
    says little of it, all of a machine say much. Outliers are drawn in to where they say no more
    than others."""
    import numpy as np

    near = np.clip(values, -2.0, 2.0)
    squares = np.maximum((near**2).sum(axis=0), np.finfo(np.float64).tiny)
    correlation = (near[1:] * near[:-1]).sum(axis=0) / squares
    error = 1 / math.sqrt(len(values))
    share = correlation - error
    if together:
        share = np.maximum(share, correlation.mean() - error / math.sqrt(len(correlation)))
    share = np.clip(share, 0.0, 0.9)
    return np.asarray(np.sqrt((1 + share) / (1 - share)))


# Average run length and delay of a CUSUM, by computation; and the threshold for a wanted one.
# The sum goes up by what a value lies above the reference, by `GAIN` at most, and never below 0
# (Page, Biometrika 41 (1954)). It is a Markov chain over steps of its height (Brook and Evans,
# Biometrika 59 (1972)): row sums of the inverse of I - Q are run lengths, powers of Q say what is
# found in time. All heights are in scales of the cell (baseline.py). Noise is Student's t with
# `FREEDOM` degrees of freedom: tails as heavy as launches have are paid for in advance.

FREEDOM = 4.0  # of student4_below
# The most that one canary can add to a sum, however extreme its value is.
GAIN = 1.5
# An alarm needs at least so many canaries, whatever their values are.
LEAST_CANARIES = 4
# The number of heights of the sum within a gain. A gain is a whole number of heights, so that sums
# of outliers are heights. Eight times as many heights change run lengths by less than 3 %.
HEIGHTS = 16
_BEYOND = 1e11  # longer runs are lost in rounding


def run_length(reference: float, threshold: float) -> float:
    """Canaries to an alarm when nothing changes, from a sum of 0; infinity beyond 1e11."""
    import numpy as np

    stays = _chain(reference, threshold, 0.0)
    try:
        length = float(np.linalg.solve(np.eye(len(stays)) - stays, np.ones(len(stays)))[0])
    except np.linalg.LinAlgError:
        return math.inf
    return length if 0 < length < _BEYOND else math.inf


def found_within(reference: float, threshold: float, canaries: int, shift: float) -> float:
    """Probability of an alarm at the latest in the canary of this number after a change by `shift`
    scales, from a sum of 0 (Lorden's worst case: Annals of Mathematical Statistics 42 (1971))."""
    import numpy as np

    stays = _chain(reference, threshold, shift)
    at = np.zeros(len(stays))
    at[0] = 1.0
    for _ in range(canaries):
        at = at @ stays
    return float(1 - at.sum())


@lru_cache(maxsize=4096)
def threshold(reference: float, least_run_length: float) -> float:
    """Return the lowest threshold with at least this run length (in canaries), and with
    LEAST_CANARIES behind each alarm."""
    low = (LEAST_CANARIES - 1) * GAIN * (1 + 1e-6)
    if run_length(reference, low) >= least_run_length:
        return low
    high = 2 * low
    while run_length(reference, high) < least_run_length:
        low, high = high, 2 * high
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        if run_length(reference, middle) < least_run_length:
            low = middle
        else:
            high = middle
    return high


def _chain(reference: float, threshold: float, shift: float) -> _Matrix:
    """Return the chain of heights below the threshold: from which (rows) to which (columns)."""
    import numpy as np

    step = GAIN / HEIGHTS
    heights = np.arange(math.ceil(threshold / step)) * step
    tops = heights + step / 2
    tops[-1] = threshold
    rises = tops[None, :] - heights[:, None]
    below = student4_below(rises + reference - shift)
    below[rises >= GAIN] = 1.0
    return np.asarray(np.diff(below, axis=1, prepend=0.0))


SMALLEST, LARGEST = math.log(1.05), math.log(1.2)
# References in scales: the reference for the smallest change that about six canaries find, and the
# least reference, because a slightly wrong middle would fill a sum with a smaller one.
PROMPT, LEAST = 1.4, 0.8
# Thresholds are computed for references of multiples of this.
STEP = 0.1


def reference_levels(scales: Vector) -> Vector:
    """Half of the change that is looked for, in scales."""
    import numpy as np

    prompt = np.clip(PROMPT * scales, SMALLEST / 2, LARGEST / 2)
    return np.asarray(np.maximum(prompt / scales, LEAST))


def thresholds(design: DetectorDesign, references: Vector) -> Vector:
    """Return the thresholds for the design's run length, with middles that were learnt a standard
    error wrong. Between multiples of STEP on a straight line, which lies above: thresholds bend
    upwards."""
    import numpy as np

    error = _MIDDLE_ERROR / math.sqrt(design.learning)
    steps = np.maximum((references - error) / STEP, 1.0)
    below = np.floor(steps).astype(int)
    threshold_of_step = {
        multiple: threshold(round(multiple * STEP, 6), design.run_length)
        for multiple in {*below.tolist(), *(below + 1).tolist()}
    }
    low, high = (
        np.array([threshold_of_step[multiple] for multiple in at.tolist()])
        for at in (below, below + 1)
    )
    return np.asarray(low + (steps - below) * (high - low))


def step(sums: Vector, values: Vector, references: Vector) -> Vector:
    """The sums after one more value: no value counts for more than GAIN above its reference."""
    import numpy as np

    return np.asarray(np.maximum(0.0, sums + np.minimum(values - references, GAIN)))


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

    references = reference_levels(np.array([baseline.scale]))
    (reference,), (limit,) = references, thresholds(design, references)

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
