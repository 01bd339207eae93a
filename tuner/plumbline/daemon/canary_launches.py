"""The launches of one canary: the first ones have all its cells, those after them the noisy ones
alone, beside all reference cases. A part of them is a look of the canary's suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from plumbline.daemon.cells import Cell, Chosen
from plumbline.daemon.work import Measured, Work
from plumbline.measure.experiment import of_round
from plumbline_db.records import CANARY, Suite
from plumbline_db.watch_records import Canary


class Part(msgspec.Struct, frozen=True):
    """`before`: launches of the parts before it; `launches`: those it adds."""

    suite: Suite
    cells: list[Cell]
    before: int
    launches: int


def parts(canary: Canary, choice: Chosen, launches: Mapping[Cell, int]) -> Iterator[Part]:
    """`launches`: in how many each cell takes part; references are in all."""
    before, suite = 0, Suite(CANARY, canary.round)
    for number, count in enumerate(sorted(set(launches.values())), 1):
        cells = [
            cell
            for cell, role in choice.roles.items()
            if role == "reference" or launches[cell] >= count
        ]
        yield Part(suite.at(number), cells, before, count - before)
        before = count


def take(work: Work, canary: Canary, choice: Chosen, launches: Mapping[Cell, int]) -> Measured:
    """Those that are stored are taken from there. Raises PlumblineError where they fail."""
    measured: dict[Suite, Measured] = {}
    for part in parts(canary, choice, launches):
        plan = work.plan([cell.case() for cell in part.cells])
        plan = of_round(plan, canary.round, part.before)
        measured[part.suite] = work.measure(part.suite, plan, part.launches)
    every = max(launches.values())
    whole = together(list(measured.values()))
    there = {
        cell: seconds
        for cell, seconds in whole.times.items()
        if len(seconds) == (every if cell in choice.references else launches[cell])
    }
    return msgspec.structs.replace(whole, times=there)


def spent(work: Work, canary: Canary, choice: Chosen, launches: Mapping[Cell, int]) -> Measured:
    """What there is of them, where they have failed."""
    found = [work.measured(part.suite) for part in parts(canary, choice, launches)]
    return together(found)


def together(found: list[Measured]) -> Measured:
    """Of parts that follow each other."""
    times: dict[Cell, list[float]] = {}
    for part in found:
        for cell, seconds in part.times.items():
            times.setdefault(cell, []).extend(seconds)
    return Measured(
        times, sum(part.launches for part in found), sum(part.seconds for part in found)
    )
