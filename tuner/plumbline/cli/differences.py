"""The things that two sides that are compared do not share, in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plumbline.results.compare import Difference
    from plumbline.results.sides import Side, SideConditions

_LONGEST = 90  # characters of a factor's value; --json has all of it


def headed(letter: str, side: Side) -> str:
    """Return what a side is, and on how many launches it rests."""
    header = side.launches[0].header
    crowded = " (oversubscribed)" if header.oversubscribed else ""
    return (
        f"{letter}  {side.name.text}: {side.library.version_string} on {side.machine.host}, "
        f"{header.nprocs} ranks{crowded}, {len(side.launches)} launches"
    )


def differing(differences: Sequence[Difference], *, together: bool) -> Iterator[str]:
    """The factors that two sides do not share."""
    if not differences:
        yield "all recorded factors are equal" + ("" if together else ", but time and load")
        return
    yield "what differs between A and B, and so may be what the ratios show:"
    for difference in differences:
        yield f"  {difference.factor}: " + "; ".join(
            f"{names[0]} {textwrap.shorten(value, _LONGEST, placeholder=' …')}"
            for value, names in difference.values
        )


def apart(a: SideConditions, b: SideConditions) -> Iterator[str]:
    """Return that of sides that were not measured together: what p does not know, and what is known
    of it."""
    from plumbline.results.sides import load_differences

    yield (
        "not paired: the sides were measured at different times; changes of the machine between "
        "them affect these ratios, and neither p nor intervals account for that"
    )
    for letter, conditions in (("A", a), ("B", b)):
        yield f"  {letter}  {conditions.first} to {conditions.last}; {_load(conditions)}"
    for text in load_differences(a, b):
        yield f"  the load differs: {text}"


def _load(conditions: SideConditions) -> str:
    if not conditions.launches_with_load:
        return "its load is not known"
    words = [
        f"{what} {'not known' if value is None else f'{value:.2f} processors'}"
        for what, value in (
            ("other work", conditions.other_processors),
            ("stolen", conditions.stolen_processors),
        )
    ]
    return f"{', '.join(words)} (medians of {conditions.launches_with_load} launches)"
