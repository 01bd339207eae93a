"""The product's rule on arrays over machines and cells. `learn` comes first, then a step for each
canary, which returns the cells that are called slower and faster and starts these anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plumbline.watch import chart
from plumbline.watch.canary import disturbance
from plumbline.watch.chart import LEAST_LEARNING, DetectorDesign, learn

Logs = NDArray[np.float64]
Called = NDArray[np.bool_]


class Product:
    """plumbline/watch, with the first `references` cells of each machine as references; what
    `observe` does to states is done to arrays here (tests/bench/test_detector.py: the same)."""

    def __init__(self, design: DetectorDesign, references: int) -> None:
        self.design, self._steady = design, references
        self._canaries = self._counted = 0

    @property
    def counted(self) -> float:
        """Share of all canaries since then that were not disturbed."""
        return self._counted / max(1, self._canaries)

    def learn(self, values: Logs) -> None:
        """From the first canaries that are not disturbed, as many as the design asks for or are
        there."""
        quiet = [self._quiet(values[:, machine]) for machine in range(values.shape[1])]
        found = [learn(logs, together=True) for logs in quiet]
        self._middles = np.stack([middles for middles, _ in found])
        self.scales = np.stack([scales for _, scales in found])
        self._references = chart.reference_levels(self.scales)
        limits = chart.thresholds(self.design, self._references.ravel())
        self._limits = limits.reshape(self.scales.shape)
        self._sums = np.zeros((2, *self.scales.shape))

    def _quiet(self, values: Logs) -> Logs:
        kept: list[Logs] = []
        for logs in values:
            if len(kept) >= LEAST_LEARNING:
                middles, scales = learn(np.array(kept)[:, : self._steady])
                if disturbance((logs[: self._steady] - middles) / scales) > 1:
                    continue
            kept.append(logs)
            if len(kept) == self.design.learning:
                break
        return np.array(kept)

    def step(self, logs: Logs) -> tuple[Called, Called]:
        values = (logs - self._middles) / self.scales
        counts = disturbance(values[:, : self._steady]) <= 1
        self._canaries += len(counts)
        self._counted += int(counts.sum())
        after = chart.step(self._sums, np.stack([values, -values]), self._references)
        self._sums = np.where(counts[:, None], after, self._sums)
        called = self._sums >= self._limits
        called[1] &= ~called[0]
        self._sums[called] = 0.0
        return called[0], called[1]
