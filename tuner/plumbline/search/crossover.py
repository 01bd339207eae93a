"""Crossovers: where, between two measured sizes, one choice ends and another begins.

Between neighbouring sizes that get different answers (two candidates, or one and the default) both
are measured beside the default at the geometric middle, and at that of both halves if they are far
apart, again and again, until the sizes of a change lie within a factor of sqrt 2; or on both sides
of a size at which the library is known to go another way. Where two far neighbours get the same
answer, what lies between is asked as well. Only sizes that a library can tell apart are
measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from plumbline.core.cell import Target
from plumbline.core.plan import IN_BLOCKS, Data
from plumbline.libraries import Knob
from plumbline.libraries.space import Space
from plumbline_db.records import Trial

from .space.candidates import DEFAULT, Candidate
from .space.select import REACH, Chosen

# The most launches of one race: two close a gap of a factor 2^8.
MOST_LOOKS = 3

_CLOSE = math.sqrt(2)

# The choices with these trials between measured sizes, which are passed as `between`.
Choose = Callable[..., list[Chosen]]
IsCold = Callable[[str, Candidate], bool]
# Candidates by cell -> trials by cell.
Measure = Callable[[Mapping[Target, Sequence[Candidate]]], Mapping[Target, list[Trial]]]


class SizeGrid:
    """The sizes that can be told apart, and those at which the library goes another way."""

    def __init__(
        self, nprocs: int, data: Data, switches: Iterable[int] = (), *, at_once: bool = False
    ) -> None:
        """`switches`: the longest messages that go one way, in bytes. `at_once`: launches are dear,
        and cases cheap, so that one look asks about all that may be asked."""
        self._nprocs = nprocs
        self._data = data
        self._switches = sorted(set(switches))
        self._at_once = at_once

    def unit(self, function: str) -> int:
        """Volumes of so many bytes more are another call."""
        blocks = self._nprocs if function in IN_BLOCKS else 1
        return blocks * self._data.width(function)

    def between(self, function: str, low: int, high: int) -> list[int]:
        """Return what is to be measured between two sizes: on both sides of a switch, else in the
        middle, or at the quarters (at all the steps); nothing where there is no size left, or the
        two are near."""
        unit = self.unit(function)
        first, last = -(-low // unit), -(-high // unit)
        if last <= first * _CLOSE + 1:
            return []
        middle = math.sqrt(first * last)
        halvings = math.ceil(math.log2(math.log(last / max(first, 1), _CLOSE)))
        parts = 2 ** (halvings if self._at_once else min(2, halvings))
        # A message is the whole volume, or one of its blocks.
        ways = [switch // self._data.width(function) for switch in self._switches]
        inside = [way for way in ways if first <= way < last]
        if inside:
            near = min(inside, key=lambda candidate_size: abs(math.log(candidate_size / middle)))
            sizes = [size for size in (near, near + 1) if first < size < last]
        else:
            points = (
                max(first, 1) * (last / max(first, 1)) ** (number / parts)
                for number in range(1, parts)
            )
            sizes = sorted({min(max(round(point), first + 1), last - 1) for point in points})
        return [units * unit for units in sizes]


def switches(space: Space, installed: Mapping[str, Knob]) -> list[int]:
    """The longest messages that go one way: what the library says of the settings that the space
    calls switches."""
    lengths = set()
    for setting in space.setting:
        value = (
            installed[setting.knob].value or setting.default if setting.knob in installed else None
        )
        if setting.switch and value and value.isdecimal():
            lengths.add(int(value) - (setting.switch == "from"))
    return sorted(size for size in lengths if size > 0)


def wanted(
    chosen: Chosen, grid: SizeGrid, is_cold: IsCold = lambda *_: False
) -> dict[Target, list[Candidate]]:
    """The sizes that are to be measured next, and what beside the default. A candidate that needs
    launches of its own is not worth them."""
    entries: dict[Target, list[Candidate]] = {}
    for low, high in pairwise(chosen.sizes):
        at_low, at_high = chosen.answer(low), chosen.answer(high)
        if at_low == at_high and (at_low == chosen.everywhere() or high <= low * REACH**2):
            continue
        entered = {
            candidate
            for candidate in (at_low, at_high, chosen.everywhere())
            if candidate != DEFAULT
        }
        if any(is_cold(chosen.function, candidate) for candidate in entered):
            continue
        for size in grid.between(chosen.function, low, high):
            entries[Target(chosen.function, size)] = sorted(entered)
    return entries


def search(
    choose: Choose,
    measure: Measure,
    grid: SizeGrid,
    go_on: Callable[[], bool],
    is_cold: IsCold = lambda *_: False,
) -> dict[Target, list[Trial]]:
    """The trials between measured sizes that show where choices change. `go_on` says whether there
    is time for another look, `is_cold` which candidates need launches of their own."""
    between: dict[Target, list[Trial]] = {}
    for _ in range(MOST_LOOKS):
        entries: dict[Target, list[Candidate]] = {}
        for chosen in choose(between=between):
            entries |= wanted(chosen, grid, is_cold)
        if not entries or not go_on():
            break
        between |= measure(entries)
        between |= {target: [] for target in entries if target not in between}
    return between
