"""What winners can change: the cells that one reaches, what differs between the winners of two
turns of a campaign, and which sides of a table may take another time by that. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from plumbline.core.guidelines import LIBRARY, Guidelines
from plumbline.launch.known import calls
from plumbline.search.outcome import deciding, holds
from plumbline.search.space.cells import Target
from plumbline.verify.index import Side
from plumbline_db.records import EVERY_FUNCTION, Winner
from plumbline_exporters.bundle import conditions

BuiltOn = Mapping[str, Collection[str]]


def built_on(guidelines: Guidelines) -> BuiltOn:
    """By function those that a library may build it on, as guidelines have it."""
    return {
        pattern.lhs: {
            used
            for other in guidelines.patterns
            if (other.lhs, other.lhs_variant) == (pattern.lhs, LIBRARY)
            for used in other.uses
        }
        for pattern in guidelines.patterns
    }


def reaching(winners: Sequence[Winner], cell: Target, built_on: BuiltOn) -> list[Winner]:
    """Those that can change what happens in a cell."""
    return [winner for winner in winners if reaches(winner, cell, built_on)]


def reaches(winner: Winner, cell: Target, built_on: BuiltOn) -> bool:
    """Whether a winner can change what happens in a cell: its own, or, for a knob, another size of
    its function (a variable that is set may turn off what the library does without it) or a cell of
    a function that the library may build on the tuned one. A variant of ours reaches no other."""
    if holds(winner, cell):
        return True
    if winner.variant != "default":
        return False
    built = winner.function in built_on.get(cell.function, ())
    return winner.function == cell.function or (
        built and winner.bytes_from <= cell.bytes <= winner.bytes_to
    )


def changed(earlier: Sequence[Winner], winners: Sequence[Winner]) -> list[Winner] | None:
    """Those that are in force in one of two turns alone; None: every call is another one, as one is
    about all of them, or as the preload library stands before all in one turn alone."""
    found = [
        winner
        for those, others in ((winners, earlier), (earlier, winners))
        for winner in those
        if not any(_holds_as(winner, other) for other in others)
    ]
    preloads = {any(winner.variant != LIBRARY for winner in those) for those in (winners, earlier)}
    if len(preloads) > 1 or any(winner.function == EVERY_FUNCTION for winner in found):
        return None
    return found


def exported_alike(earlier: Sequence[Winner], winners: Sequence[Winner]) -> bool:
    """Whether the same files come of them."""
    return changed(earlier, winners) == []


def _holds_as(winner: Winner, other: Winner) -> bool:
    """Whether they are exported alike."""
    same = {"function", "bytes_from", "bytes_to", "variant", "configuration"}
    alike = all(getattr(winner, name) == getattr(other, name) for name in same)
    return alike and conditions(winner) == conditions(other)


def is_in_force(winners: Sequence[Winner], left: Side, right: Side) -> bool:
    """Return whether calls of the left side are replaced by the right side."""
    if left.variant != LIBRARY or left.ranks or right.variant == LIBRARY:
        return False
    winner = deciding(winners, Target(left.function, left.bytes))
    same = (left.function, left.bytes) == (right.function, right.bytes)
    return same and winner is not None and winner.variant == right.variant


def side_changes(winners: Sequence[Winner], side: Side, built_on: BuiltOn) -> bool:
    """Whether a side of a table takes another time when these come, go or change. A mock-up calls
    functions at sizes of its own."""
    if side.variant == LIBRARY and not side.ranks:
        return bool(reaching(winners, Target(side.function, side.bytes), built_on))
    called = (side.function,) if side.ranks else calls(side.function, side.variant)
    return (
        bool(winners)
        if called is None
        else any(
            winner.function == name or winner.function in built_on.get(name, ())
            for winner in winners
            for name in called
        )
    )
