"""One canary more: from the states of all cells before it to those after it, and alarms.

A busy machine slows each cell by a factor of its own. What all cells share is taken off. How much
wider the noise of one canary is than that of others shows in the cells that nothing but the machine
can have changed; a canary with too much of it says nothing of any cell."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from plumbline.measure.comparison import REFERENCE_CELLS, without_shared_factor
from plumbline.verify.significance.distributions import beta_quantile, student_quantile
from plumbline.watch import chart
from plumbline.watch.chart import (
    FREEDOM,
    Alarm,
    Baseline,
    CellState,
    Cusum,
    DetectorDesign,
    baselines_of,
    launches_of,
    resized,
)

Key = TypeVar("Key")
_Vector = NDArray[np.float64]
_LEVEL = 0.75  # a quarter of the references lies beyond
_CONFIDENCE = 0.95


class Watched(msgspec.Struct, Generic[Key], frozen=True):
    """`own`: the log ratio of each cell in this canary, less what all share. `disturbance`: how
    wide this canary's noise is among the references, by what it usually stays below; None: too few
    of them were measured."""

    states: dict[Key, CellState]
    alarms: dict[Key, Alarm]
    own: dict[Key, float]
    disturbance: float | None

    @property
    def counts(self) -> bool:
        """Return whether the canary says anything; else all states are as before."""
        return self.disturbance is not None and self.disturbance <= 1


def observe(
    design: DetectorDesign,
    states: Mapping[Key, CellState],
    canary: Mapping[Key, Sequence[float]],
    references: Collection[Key],
) -> Watched[Key]:
    """`canary`: log ratios of cells, now over a stored time that never changes, one a launch: of
    the first launches, as many as `launches_of` says. `references`: cells among them that no
    exported file changes; they have all launches, and are watched too.

    A cell that is new learns; one that was not measured stays as it is. A sum that raises an alarm
    begins again at 0: while nobody does anything about it, the alarm comes again."""
    before = dict(states)
    steady = [key for key in references if key in canary]
    if len(steady) < REFERENCE_CELLS:
        return Watched(before, {}, {}, None)
    ratios = _less_shared(canary, steady)
    counts = {key: launches_of(design, before.get(key, CellState())) for key in ratios}
    own = {key: float(of_launches(np.array(logs[: counts[key]]))) for key, logs in ratios.items()}
    baselines = {key: states[key].known() for key in steady if key in states}
    noise = [
        (own[key] - baseline.middle) / baseline.scale
        for key, baseline in baselines.items()
        if baseline
    ]
    disturbed = float(disturbance(np.array(noise)))
    if disturbed > 1:
        return Watched(before, {}, own, disturbed)
    after, alarms = dict(before), dict[Key, Alarm]()
    watched: dict[Key, Baseline] = {}
    for key, log in own.items():
        state = states.get(key, CellState())
        if state.baseline is None:
            learning = msgspec.structs.replace(state, learning=(*state.learning, log))
            after[key] = resized(design, learning)
        else:
            watched[key] = state.baseline
    after |= _learnt(design, {key: after[key] for key in own if key not in watched})
    for key, (state, alarm) in _step(design, states, watched, own).items():
        after[key] = state
        if alarm:
            alarms[key] = alarm
    return Watched(after, alarms, own, disturbed)


def _learnt(design: DetectorDesign, states: Mapping[Key, CellState]) -> dict[Key, CellState]:
    """Return the states of cells that have learnt for long enough."""
    ready = {key: state.learning for key, state in states.items()}
    ready = {key: logs for key, logs in ready.items() if len(logs) >= design.learning}
    learnt: dict[Key, CellState] = {}
    for length in {len(logs) for logs in ready.values()}:  # a design may have become shorter
        keys = [key for key, logs in ready.items() if len(logs) == length]
        baselines = baselines_of([ready[key] for key in keys])
        learnt |= {
            key: CellState((), baseline, launches=states[key].launches)
            for key, baseline in zip(keys, baselines, strict=True)
        }
    return learnt


def _step(
    design: DetectorDesign,
    states: Mapping[Key, CellState],
    watched: Mapping[Key, Baseline],
    own: Mapping[Key, float],
) -> dict[Key, tuple[CellState, Alarm | None]]:
    if not watched:
        return {}
    before = [states[key] for key in watched]
    offs = np.array([own[key] - baseline.middle for key, baseline in watched.items()])
    scales = np.array([baseline.scale for baseline in watched.values()])
    references = chart.reference_levels(scales)
    limits = chart.thresholds(design, references)
    values = offs / scales
    slower = chart.step(_sums([state.slower for state in before]), values, references)
    faster = chart.step(_sums([state.faster for state in before]), -values, references)
    after: dict[Key, tuple[CellState, Alarm | None]] = {}
    for n, (key, state) in enumerate(zip(watched, before, strict=True)):
        up = state.slower.after(float(slower[n]), float(offs[n]))
        down = state.faster.after(float(faster[n]), float(offs[n]))
        alarm = None
        if up.sum >= limits[n]:
            alarm, up = Alarm("slower", up.ratio, up.canaries), Cusum()
        elif down.sum >= limits[n]:
            alarm, down = Alarm("faster", down.ratio, down.canaries), Cusum()
        after[key] = msgspec.structs.replace(state, slower=up, faster=down), alarm
    return after


def _sums(sides: Sequence[Cusum]) -> _Vector:
    return np.array([side.sum for side in sides])


def _less_shared(
    canary: Mapping[Key, Sequence[float]], references: Sequence[Key]
) -> dict[Key, list[float]]:
    """Log ratios, one a launch, without what the references share in each launch. Cells are in the
    first launches, as many as each has; references are in all of them."""
    ratios_by_cell: dict[Key, list[float]] = {}
    for count in {len(logs) for logs in canary.values()}:
        same_count = {key: logs for key, logs in canary.items() if len(logs) == count}
        ratios_by_cell |= without_shared_factor(
            same_count, [canary[key][:count] for key in references]
        )
    return ratios_by_cell


def of_launches(logs: _Vector) -> _Vector:
    """Log ratios, one a launch along the first axis, which goes: their Hodges-Lehmann centre, the
    median of the averages of all pairs, each with itself too. One launch of five that is far out
    moves it little, and of normal noise it keeps all but a twentieth (Hodges and Lehmann, Annals
    of Mathematical Statistics 34 (1963))."""
    rows, columns = np.triu_indices(len(logs))
    return np.asarray(np.median((logs[rows] + logs[columns]) / 2, axis=0))


def disturbance(values: _Vector) -> _Vector:
    """More than 1: wider than CONFIDENCE of quiet canaries. `values`: of the references in their
    scales, along the last axis, which goes. Fewer than REFERENCE_CELLS do not say (0)."""
    count = values.shape[-1]
    if count < REFERENCE_CELLS:
        return np.zeros(values.shape[:-1])
    at = math.ceil(_LEVEL * count)
    distances = np.partition(np.abs(values), at - 1, axis=-1)[..., at - 1]
    return np.asarray(distances / _usual(at, count))


@lru_cache
def _usual(at: int, count: int) -> float:
    """Return what the distance of this order stays below in CONFIDENCE of the canaries."""
    share = beta_quantile(at, count - at + 1, _CONFIDENCE)
    return student_quantile(FREEDOM, (1 + share) / 2)
