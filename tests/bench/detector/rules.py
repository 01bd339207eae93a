"""Rules that are compared: the product's, and two that others would take. Arrays over machines and
cells; `learn` first, then a step a canary, which says which cells are called slower and faster and
begins with these anew."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plumbline.watch import chart
from plumbline.watch.canary import disturbance
from plumbline.watch.chart import learn
from plumbline.watch.design import LEAST_LEARNING, Design

Logs = NDArray[np.float64]
Called = NDArray[np.bool_]


class Rule(Protocol):
    name: str

    def learn(self, values: Logs) -> None: ...

    def step(self, logs: Logs) -> tuple[Called, Called]: ...


class Product:
    """plumbline/watch, with the first `references` cells of each machine as references; what
    `observe` does to states is done to arrays here (tests/bench/test_detector.py: the same)."""

    name = "plumbline watch"

    def __init__(self, design: Design, references: int) -> None:
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
        self._references = chart.references(self.scales)
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


class Textbook:
    """CUSUM for a change of 10 % in normal noise of the mean and deviation that were learnt.
    Threshold: Siegmund, Sequential Analysis (1985), (10.17)."""

    name = "CUSUM, normal"

    def __init__(self, design: Design) -> None:
        self.design = design

    def learn(self, values: Logs) -> None:
        values = values[: self.design.learning]
        self._mean, self._deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
        self._reference = math.log(1.1) / 2 / self._deviation
        self._limit = self._solved(self._reference)
        self._sums = np.zeros((2, *values.shape[1:]))

    def _solved(self, reference: Logs) -> Logs:
        low, high = np.zeros_like(reference), np.full_like(reference, 100.0)
        for _ in range(50):
            middle = (low + high) / 2
            twice = np.minimum(2 * reference * (middle + 1.166), 600.0)
            long = (np.exp(twice) - twice - 1) / (2 * reference**2) >= self.design.run_length
            low, high = np.where(long, low, middle), np.where(long, middle, high)
        return np.asarray(high)

    def step(self, logs: Logs) -> tuple[Called, Called]:
        values = (logs - self._mean) / self._deviation
        both = np.stack([values, -values])
        self._sums = np.maximum(0.0, self._sums + both - self._reference)
        called = self._sums >= self._limit
        self._sums[called] = 0.0
        return called[0], called[1]


class Ranks:
    """Nothing is assumed of the noise: Shiryaev-Roberts e-detector (Shin, Ramdas and Rinaldo 2022)
    on conformal p-values against the learning period, bets on their smallest shares averaged."""

    name = "e-detector of ranks"
    shares, stake = (0.05, 0.1, 0.2), 0.9

    def __init__(self, design: Design) -> None:
        self.design = design

    def learn(self, values: Logs) -> None:
        self._learnt = values[: self.design.learning]
        self._capital = np.zeros((2, len(self.shares), *values.shape[1:]))

    def step(self, logs: Logs) -> tuple[Called, Called]:
        least = len(self._learnt) + 1
        p = np.stack(
            [
                (1 + (self._learnt >= logs).sum(axis=0)) / least,
                (1 + (self._learnt <= logs).sum(axis=0)) / least,
            ]
        )
        for n, share in enumerate(self.shares):
            won = 1 - self.stake + self.stake / share * (p <= share)
            self._capital[:, n] = (self._capital[:, n] + 1) * won
        called = self._capital.mean(axis=1) >= self.design.run_length
        self._capital[np.broadcast_to(called[:, None], self._capital.shape)] = 0.0
        return called[0], called[1]
