"""The time that overlap cells are going to take: by a model, then by launches that are done.
Pure."""

from __future__ import annotations

from collections.abc import Iterable

from plumbline.core.plan import OverlapCell, Plan
from plumbline.overlap.benches import LOAD

# Of a message in shared memory; a slower network is seen in the first launches.
_MESSAGE_SECONDS, _BYTE_SECONDS = 2e-6, 2e-10
_WARM_TRIPLES = 2
_STARTED_SECONDS = 1.0  # a launch, its work calibrated
# What it took here beyond the model (docs/design/overlap.md, "The grid").
_BEYOND = 1.3
_LEAST_LIMIT, _MANY = 120.0, 10
_LIMIT_BY_SCHEDULER = 3600.0  # where threads share cores, and a message may wait 50 ms for its own


def seconds(cells: Iterable[OverlapCell]) -> float:
    """Return those of one launch: in every triple communication, computation, and both one after
    the other."""
    return _STARTED_SECONDS + _BEYOND * sum(
        (cell.triples + _WARM_TRIPLES) * 2 * (_message(cell) + cell.work_ns / 1e9) for cell in cells
    )


def _message(cell: OverlapCell) -> float:
    return cell.requests * (_MESSAGE_SECONDS + cell.bytes * _BYTE_SECONDS)


class TimeLeft:
    """The time that is left, by the model and by how launches so far compare with it."""

    def __init__(self) -> None:
        self._modelled = self._taken = 0.0

    def took(self, modelled: float, taken: float) -> None:
        """A launch of so many seconds by the model, and in truth."""
        self._modelled += modelled
        self._taken += taken

    def left(self, modelled: float) -> float:
        """Seconds of launches that the model gives so many seconds."""
        return modelled * (self._taken / self._modelled if self._modelled else 1.0)


def limit(plans: Iterable[Plan]) -> float:
    """Seconds after which a launch of any of these plans hangs."""
    every = list(plans)
    waits = any(cell.helper or cell.bench == LOAD for plan in every for cell in plan.overlaps)
    least = _LIMIT_BY_SCHEDULER if waits else _LEAST_LIMIT
    return max(least, _MANY * max(seconds(plan.overlaps) for plan in every))


def words(seconds: float) -> str:
    """`12 min`, `40 s`"""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1, round(seconds)):d} s"
