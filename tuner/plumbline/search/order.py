"""The order in which cells are searched, by what depends on what: guideline → function → guideline.

A pattern f ⪯ g + h depends on g and h: when they become faster, its bound moves, and it may break.
So right-hand sides are searched first. Pure: names and verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from plumbline.core.cell import Target
from plumbline.core.guidelines import Guidelines
from plumbline.core.winner import holds
from plumbline_db.records import Verdict, Winner


class DependencyOrder:
    """The dependencies of one set of guidelines."""

    def __init__(self, guidelines: Guidelines) -> None:
        self._uses = {pattern.id: pattern.uses for pattern in guidelines.patterns}
        self._split = guidelines.split

    def layers(self, targets: Sequence[Target], verdicts: Iterable[Verdict]) -> list[list[Target]]:
        """`targets` in the order of work; functions that wait for each other are searched
        together."""
        return [
            [target for target in targets if target.function in together]
            for together in levels(self.waits(targets, verdicts))
        ]

    def waits(self, targets: Sequence[Target], verdicts: Iterable[Verdict]) -> dict[str, set[str]]:
        """Return by function those that one of its violated patterns is made of, where they are to
        be searched at the same size (a mock-up passes its message on)."""
        cells = set(targets)
        waits: dict[str, set[str]] = {target.function: set() for target in targets}
        for verdict in verdicts:
            if verdict.verdict == "violated" and Target(verdict.function, verdict.bytes) in cells:
                used = self._uses.get(verdict.guideline.partition(" ")[0], ())
                waits[verdict.function] |= {
                    name for name in used if Target(name, verdict.bytes) in cells
                } - {verdict.function}
        return waits

    def made_of(self, verdict: Verdict) -> list[Target]:
        """Return the cells that the right side of a verdict is made of."""
        if verdict.kind in ("monotony", "split"):
            return [Target(verdict.function, self.other_size(verdict))]
        used = self._uses.get(verdict.guideline.partition(" ")[0], ())
        return [Target(name, verdict.bytes) for name in used]

    def other_size(self, violation: Verdict) -> int:
        """Return the size of the calls that the right side is made of, of the same function."""
        for pieces in self._split.pieces:
            if violation.rhs == self._split.variant(violation.function, pieces):
                return violation.bytes // pieces
        return violation.other_bytes


def levels(waits: Mapping[str, set[str]]) -> list[set[str]]:
    """Names by level: each waits for those of earlier levels alone, or for some that wait for it
    in turn."""
    reach: dict[str, set[str]] = {}
    for name in waits:
        reached, open_ = set[str](), [name]
        while open_:
            for waited_for in waits[open_.pop()] - reached:
                reached.add(waited_for)
                open_.append(waited_for)
        reach[name] = reached
    remaining, levels_found = set(waits), list[set[str]]()
    while remaining:
        level = {
            name
            for name in remaining
            if all(name in reach[other] for other in reach[name] & remaining)
        }
        levels_found.append(level)
        remaining -= level
    return levels_found


def moved(
    cells: Iterable[Target], waits: Mapping[str, Collection[str]], winners: Sequence[Winner]
) -> list[Target]:
    """Return the cells whose mock-ups are made of calls that have a winner."""
    return [
        cell
        for cell in cells
        if any(
            holds(winner, Target(name, cell.bytes))
            for name in waits[cell.function]
            for winner in winners
        )
    ]
