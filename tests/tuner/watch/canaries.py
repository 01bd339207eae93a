"""Canaries that are made up: 12 references and some cells, log ratios with noise that is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plumbline.watch.canary import Watched, observe
from plumbline.watch.chart import CellState, DetectorDesign

DESIGN = DetectorDesign(cells=200, learning=40)
REFERENCES = [f"reference {n}" for n in range(12)]
CELLS = [f"cell {n}" for n in range(8)]
NOISE = 0.02


class Machine:
    """Canaries of one to three launches, one after the other."""

    def __init__(self, seed: int = 1, noise: float = NOISE, launches: int = 1) -> None:
        self._rng = np.random.default_rng(seed)
        self._noise, self._launches = noise, launches
        self.states: dict[str, CellState] = {}

    def next(self, change: Mapping[str, float] = {}, shared: float = 0.0) -> Watched[str]:
        """`change`: log ratios of cells beside the noise; `shared`: of all of them."""
        drift = self._rng.normal(shared, 0.3, self._launches)
        canary = {
            key: list(self._rng.normal(change.get(key, 0.0), self._noise, self._launches) + drift)
            for key in [*REFERENCES, *CELLS]
        }
        watched = observe(DESIGN, self.states, canary, REFERENCES)
        self.states = watched.states
        return watched

    def learnt(self) -> Machine:
        """With every baseline there."""
        while not self.states or any(one.baseline is None for one in self.states.values()):
            self.next()
        return self
