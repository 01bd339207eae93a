"""Predictions of what winners break elsewhere, before it is measured: monotony of f at a size
depends on f at the next larger one, split-robustness on f at a smaller one, a pattern on the
functions that its right side is made of. `becomes` is what cells take with winners in force, over
what they take in the table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline_db.records import Trial, Verdict, Winner

from . import outcome


def as_promised(
    winners: Iterable[Winner], sizes: Mapping[str, Sequence[int]]
) -> dict[Target, float]:
    """Return what becomes of the cells of these winners, by what their searches say of them."""
    return {
        Target(winner.function, size): 1 / winner.search_speedup
        for winner in winners
        for size in sizes.get(winner.function, ())
        if winner.bytes_from <= size <= winner.bytes_to
    }


def as_tried(
    trials: Mapping[Target, Sequence[Trial]], winners: Sequence[Winner]
) -> dict[Target, float]:
    """Return what becomes of the cells that have a winner, by the trials of each."""
    ratio_by_cell: dict[Target, float] = {}
    for target, measured in trials.items():
        winner = deciding(winners, target)
        for trial in measured:
            if winner and outcome.is_of(trial, winner) and trial.ratio is not None:
                ratio_by_cell[target] = trial.ratio
    return ratio_by_cell


def broken(
    verdicts: Iterable[Verdict],
    becomes: Mapping[Target, float],
    made_of: Callable[[Verdict], Sequence[Target]],
    limit: float,
) -> list[Verdict]:
    """Return what will be violated, as it will be: cells whose right side is `made_of` cells that
    become faster. A right side of several cells becomes faster by what the least of them does."""
    will_be_violated = []
    for verdict in verdicts:
        if verdict.verdict == "violated" or verdict.ratio is None:
            continue
        if not verdict.replaceable or verdict.in_other_use:
            continue
        own_cell = Target(verdict.function, verdict.bytes)
        least = max((becomes.get(cell, 1.0) for cell in made_of(verdict)), default=1.0)
        ratio = verdict.ratio * becomes.get(own_cell, 1.0) / least
        if least < 1 and ratio > limit:
            will_be_violated.append(
                msgspec.structs.replace(verdict, verdict="violated", ratio=ratio)
            )
    return will_be_violated


class Neighbours:
    """Smaller sizes of a function whose monotony a winner at a larger one can break. `verdicts` are
    those of the table that opens the search: a cell's time over that of the next larger size."""

    def __init__(self, verdicts: Iterable[Verdict], tolerance: float) -> None:
        self._limit = 1 + tolerance
        self._next: dict[Target, tuple[Target, float, str]] = {}
        self._smaller: dict[Target, Target] = {}
        self._needed: dict[Target, float] = {}
        for verdict in verdicts:
            own_cell = Target(verdict.function, verdict.bytes)
            if verdict.ratio is None or not verdict.replaceable or verdict.in_other_use:
                continue
            if verdict.kind == "monotony":
                larger = Target(verdict.function, verdict.other_bytes)
                self._next[own_cell] = (
                    larger,
                    verdict.ratio,
                    f"{verdict.guideline}@{verdict.bytes}",
                )
                self._smaller[larger] = own_cell
            if verdict.verdict == "violated":
                self._needed[own_cell] = max(verdict.ratio, self._needed.get(own_cell, 1.0))

    def of(self, targets: Iterable[Target]) -> list[Target]:
        """Sizes below the targets that would be slower than a target which is as fast as its
        violated guidelines ask."""
        targets = set(targets)
        slower_neighbours: set[Target] = set()
        for target in targets:
            ratio, cell = self._needed.get(target, 1.0), target
            while (smaller := self._smaller.get(cell)) is not None:
                ratio *= self._next[smaller][1]
                if smaller in targets or ratio <= self._limit:
                    break
                slower_neighbours.add(smaller)
                cell = smaller
        return sorted(slower_neighbours)

    def broken(
        self, neighbours: Iterable[Target], becomes: Mapping[Target, float]
    ) -> dict[Target, str]:
        """The neighbours whose monotony does not hold when cells take `becomes` times as long as
        they do, with the name of what is violated there."""
        names_by_cell: dict[Target, str] = {}
        for neighbour in neighbours:
            larger, ratio, name = self._next[neighbour]
            if ratio * becomes.get(neighbour, 1.0) / becomes.get(larger, 1.0) > self._limit:
                names_by_cell[neighbour] = name
        return names_by_cell
