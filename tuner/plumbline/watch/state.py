"""The state of a cell that is kept between canaries: a value, to be stored as it is."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from plumbline.watch.chart import Baseline, baseline_of
from plumbline.watch.design import LEAST_LEARNING

Direction = Literal["slower", "faster"]


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

    direction: Direction
    ratio: float
    canaries: int
