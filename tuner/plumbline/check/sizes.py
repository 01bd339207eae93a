"""What the sizes of the common benchmark programs are in volumes, and back: OSU and IMB name the
vector of one process, or the block that one process has for another. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from plumbline.core.plan import FUNCTIONS_IN_PARTS, MESSAGE_FUNCTIONS_IN_BLOCKS, REDUCTIONS

from .cells import ProgramCell, place_of
from .programs import Wanted

_LEAST_REDUCED = 4  # a float; smaller sizes are nothing to programs that reduce floats


def volume(function: str, size: int, nprocs: int, *, totals: frozenset[str]) -> int:
    """The volume of `size`; of `totals` a size is the volume already, cut to whole blocks."""
    if function in totals:
        blocks = function in MESSAGE_FUNCTIONS_IN_BLOCKS
        return size // nprocs * nprocs if blocks else size
    divided = function in MESSAGE_FUNCTIONS_IN_BLOCKS | FUNCTIONS_IN_PARTS
    return size * nprocs if divided else size


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
