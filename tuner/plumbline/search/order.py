"""What depends on what: guideline → function → guideline. In which order cells are searched, which
neighbours race along, and whose winners a new violation is owed to.

A pattern f ⪯ g + h depends on g and h: when they become faster, its bound moves, and it may break.
So right-hand sides are searched first. Monotony of f at a size depends on f at the next larger one.
Pure: names, verdicts and winners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from plumbline.core.guidelines import Guidelines
from plumbline.core.variant_spec import variant_name
from plumbline_db.records import Verdict, Winner

from .outcome import deciding
from .space.cells import Target


class Order:
    """The dependencies of one set of guidelines."""

    def __init__(self, guidelines: Guidelines) -> None:
        self._uses = {pattern.id: pattern.uses for pattern in guidelines.patterns}
        self._split = guidelines.split
        self._parts = {
            variant_name(pattern.variant): set(pattern.uses) for pattern in guidelines.patterns
        }

    def made_of(self, function: str, mockup: str) -> set[str]:
        """The functions that a mock-up of `function` calls; parts of a split call that itself."""
        return self._parts.get(mockup, {function})

    def layers(self, targets: Sequence[Target], verdicts: Iterable[Verdict]) -> list[list[Target]]:
        """`targets` in the order of work; functions that wait for each other are searched
        together."""
        return [
            [target for target in targets if target.function in together]
            for together in _levels(self.waits(targets, verdicts))
        ]

    def waits(self, targets: Sequence[Target], verdicts: Iterable[Verdict]) -> dict[str, set[str]]:
        """By function those that one of its violated patterns is made of, where they are to be
        searched at the same size (a mock-up passes its message on)."""
        wanted = set(targets)
        waits: dict[str, set[str]] = {target.function: set() for target in targets}
        for verdict in verdicts:
            if verdict.verdict == "violated" and Target(verdict.function, verdict.bytes) in wanted:
                used = self._uses.get(verdict.guideline.partition(" ")[0], ())
                waits[verdict.function] |= {
                    name for name in used if Target(name, verdict.bytes) in wanted
                } - {verdict.function}
        return waits

    def raised_by(self, violation: Verdict, winners: Sequence[Winner]) -> list[Winner]:
        """The winners that may have made the right side of `violation` faster than the left: those
        at its size where there are some, else those at other sizes of the functions it is made
        of."""
        if violation.kind == "pattern":
            functions = set(self._uses.get(violation.guideline, ()))
            size = violation.bytes
        else:
            functions = {violation.function}
            size = self._other_size(violation)
        there = [winner for winner in winners if winner.function in functions]
        at_size = {
            id(one)
            for name in functions
            if (one := deciding(winners, Target(name, size))) is not None
        }
        return [winner for winner in there if id(winner) in at_size] or there

    def broken(
        self, verdicts: Iterable[Verdict], becomes: Mapping[Target, float], limit: float
    ) -> list[Verdict]:
        """What will be violated when cells take `becomes` times as long as in the table: of a cell
        whose right side is made of its own function at another size, as it will be."""
        found = []
        for verdict in verdicts:
            if verdict.kind not in ("monotony", "split") or verdict.verdict == "violated":
                continue
            if verdict.ratio is None or not verdict.replaceable or verdict.in_other_use:
                continue
            here = Target(verdict.function, verdict.bytes)
            other = Target(verdict.function, self._other_size(verdict))
            ratio = verdict.ratio * becomes.get(here, 1.0) / becomes.get(other, 1.0)
            if other in becomes and ratio > limit:
                found.append(msgspec.structs.replace(verdict, verdict="violated", ratio=ratio))
        return found

    def _other_size(self, violation: Verdict) -> int:
        """Of the calls that the right side is made of, of the same function."""
        for pieces in self._split.pieces:
            if violation.rhs == self._split.variant(violation.function, pieces):
                return violation.bytes // pieces
        return violation.other_bytes


def _levels(waits: Mapping[str, set[str]]) -> list[set[str]]:
    """Names by level: each waits for those of earlier levels alone, or for some that wait for it
    in turn."""
    reach: dict[str, set[str]] = {}
    for name in waits:
        seen, open_ = set[str](), [name]
        while open_:
            for other in waits[open_.pop()] - seen:
                seen.add(other)
                open_.append(other)
        reach[name] = seen
    left, found = set(waits), list[set[str]]()
    while left:
        level = {name for name in left if all(name in reach[other] for other in reach[name] & left)}
        found.append(level)
        left -= level
    return found


class Neighbours:
    """Smaller sizes of a function whose monotony a winner at a larger one can break. `verdicts` are
    those of the table that opens the search: a cell's time over that of the next larger size."""

    def __init__(self, verdicts: Iterable[Verdict], tolerance: float) -> None:
        self._limit = 1 + tolerance
        self._next: dict[Target, tuple[Target, float, str]] = {}
        self._smaller: dict[Target, Target] = {}
        self._needed: dict[Target, float] = {}
        for verdict in verdicts:
            here = Target(verdict.function, verdict.bytes)
            if verdict.ratio is None or not verdict.replaceable or verdict.in_other_use:
                continue
            if verdict.kind == "monotony":
                larger = Target(verdict.function, verdict.other_bytes)
                self._next[here] = (larger, verdict.ratio, f"{verdict.guideline}@{verdict.bytes}")
                self._smaller[larger] = here
            if verdict.verdict == "violated":
                self._needed[here] = max(verdict.ratio, self._needed.get(here, 1.0))

    def of(self, targets: Iterable[Target]) -> list[Target]:
        """Sizes below the targets that would be slower than a target which is as fast as its
        violated guidelines ask."""
        targets = set(targets)
        found: set[Target] = set()
        for target in targets:
            ratio, here = self._needed.get(target, 1.0), target
            while (smaller := self._smaller.get(here)) is not None:
                ratio *= self._next[smaller][1]
                if smaller in targets or ratio <= self._limit:
                    break
                found.add(smaller)
                here = smaller
        return sorted(found)

    def broken(
        self, neighbours: Iterable[Target], becomes: Mapping[Target, float]
    ) -> dict[Target, str]:
        """The neighbours whose monotony does not hold when cells take `becomes` times as long as
        they do, with the name of what is violated there."""
        found: dict[Target, str] = {}
        for here in neighbours:
            larger, ratio, name = self._next[here]
            if ratio * becomes.get(here, 1.0) / becomes.get(larger, 1.0) > self._limit:
                found[here] = name
        return found
