"""Promises of the detector, and what they ask of it: how often it may be wrong, over how many
cells, after how long a learning period."""

from __future__ import annotations

import math

import msgspec

HOURLY_30_DAYS = 30 * 24
SIDES = 2  # slower, faster
# Fewer canaries are too few to estimate a cell's noise.
LEAST_LEARNING = 20


class DetectorDesign(msgspec.Struct, frozen=True):
    """A promise: at most `false_alarms` on average in `canaries` canaries of all `cells` together,
    slower and faster, references included. `learning`: canaries before a cell is watched. A cell
    takes part in `launches` of a canary at least, a noisy one in `launches_max` at most
    (sizing.py). Stored beside the states: with another design they are not the same states."""

    cells: int
    canaries: int = HOURLY_30_DAYS
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
        return SIDES * self.cells * self.canaries / self.false_alarms
