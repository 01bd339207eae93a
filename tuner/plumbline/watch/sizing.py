"""In how many launches of a canary a cell takes part: as many as its own noise asks for, so that a
slow-down of ten per cent is found in time there too. Quiet cells get by with few."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from plumbline.watch.baseline import baseline_of
from plumbline.watch.design import LEAST_LEARNING, Design
from plumbline.watch.resolution import largest_scale
from plumbline.watch.state import CellState

Counts = NDArray[np.int64]


def steps(design: Design) -> list[int]:
    """Numbers of launches that cells have: twice as many each time, so that few plans do for all
    cells of a canary."""
    most = max(design.launches, design.launches_max)
    doublings = math.ceil(math.log2(most / design.launches))
    return [*(design.launches * 2**n for n in range(doublings)), most]


def launches_of(design: Design, state: CellState) -> int:
    """By which a cell is judged: the first ones of a canary."""
    return min(max(state.launches, design.launches), steps(design)[-1])


def sized(design: Design, launches: Counts, scales: NDArray[np.float64]) -> Counts:
    """Launches that cells need which have these scales with so many; never fewer than they have.
    A scale falls with the root of their number."""
    every = np.array(steps(design))
    wanted = launches * (scales / largest_scale(design)) ** 2
    at = np.minimum(np.searchsorted(every, wanted), len(every) - 1)
    return np.asarray(np.maximum(launches, every[at]))


def resized(design: Design, state: CellState) -> CellState:
    """After its first canaries, and at the end of its learning, a cell that is too noisy gets more
    launches, and learns anew by them; as often as it takes."""
    looks = (LEAST_LEARNING, design.learning)
    if state.baseline is not None or len(state.learning) not in looks:
        return state
    launches, scale = launches_of(design, state), baseline_of(state.learning).scale
    (needed,) = sized(design, np.array([launches]), np.array([scale])).tolist()
    return state if needed == launches else CellState(launches=needed)
