"""What a configuration costs beside the best that any has shown. Pure.

The overhead ratio is of a configuration's own message: one that makes the message slow hides it
well. Regret is of time: T_measured over max(T_comm, w), where T_comm is the shortest message alone
among all configurations and w the shortest work alone. 1 is perfect overlap of the best message."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline.overlap.metric import Ratio


def ideal(cell: Sequence[Ratio]) -> float:
    """Seconds that the same cell would take at best, by several configurations. ValueError: there
    are none."""
    return max(min(ratio.communication for ratio in cell), min(ratio.computation for ratio in cell))


def regret(cell: Sequence[Ratio]) -> list[float]:
    """Of each configuration, in the same cell."""
    return [ratio.both / ideal(cell) for ratio in cell]
