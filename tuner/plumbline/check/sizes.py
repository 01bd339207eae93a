"""Which sizes the common benchmark programs measure of winners. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from plumbline.core.plan import REDUCTIONS
from plumbline.foreign.table import volume

from .cells import ProgramCell, place_of
from .programs import Wanted

_LEAST_REDUCED = 4  # a float; smaller sizes are nothing to programs that reduce floats


def powers(function: str, wanted: Wanted, *, totals: frozenset[str]) -> Iterator[int]:
    """The sizes that such a program measures of a function, powers of two, at whose volumes a
    winner is in force, up to what the campaign has measured. Barrier has the size 0."""
    if function == "MPI_Barrier":
        if place_of(wanted.winners, ProgramCell(function, 0)) is not None:
            yield 0
        return
    size = _LEAST_REDUCED if function in REDUCTIONS else 1
    while (moved := volume(function, size, wanted.nprocs, totals=totals)) <= wanted.most.get(
        function, 0
    ):
        if moved and place_of(wanted.winners, ProgramCell(function, moved)) is not None:
            yield size
        size *= 2
