"""The offer of a benchmark program here, which sizes of winners it measures, and what it hands
back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from plumbline.core import printed_text as text
from plumbline.core.plan import REDUCTIONS
from plumbline.foreign.osu import FUNCTIONS
from plumbline.foreign.table import GivenRanks, OutputFormat, volume
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner

from .cells import ProgramCell, place_of


class Reading(msgspec.Struct, frozen=True, order=True):
    """A cell as one loop sees it: a loop of `loops`, or the one of another program."""

    loop: str
    cell: ProgramCell


Seconds = Mapping[Reading, float]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The wishes of a check: the winners to be seen, all cells of theirs, the ranks, and the
    largest size that the campaign has measured of each function."""

    winners: list[Winner]
    cells: list[ProgramCell]
    nprocs: int
    root: int
    most: dict[str, int]


class Unreadable(Exception):
    """The output of a program is not what it was expected to be; says what it is."""


class Program(Protocol):
    """`name` says who it is, `loops` whose columns it fills."""

    name: str
    loops: Sequence[str]

    def offers(self, wanted: Wanted) -> list[ProgramCell]:
        """Return what it will measure of that; types and operators may be its own."""
        ...

    def launches(
        self, offered: Sequence[ProgramCell], loops: Sequence[str], seed: int
    ) -> list[list[str]]:
        """The program and its arguments, a launch each. `FOLDER` in an argument stands for a folder
        of the launch's own."""
        ...

    def prepare(self, offered: Sequence[ProgramCell], folder: Path) -> None:
        """Writes the files that its arguments name: most name none."""
        del offered, folder

    def read(self, words: Sequence[str], folder: Path, stdout: str) -> Seconds:
        """Seconds of one call, by the program's own statistic. Raises Unreadable."""
        ...


FOLDER = "{folder}"
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


def printed(
    format: OutputFormat, stdout: str, nprocs: int, loop: str, statistic: str
) -> dict[Reading, float]:
    """The column `statistic` of what a benchmark printed of calls of all ranks. Raises
    Unreadable."""
    try:
        tables = format.read(text.lines(stdout.encode()), GivenRanks([nprocs])).tables
    except PlumblineError as error:
        raise Unreadable(str(error)) from error
    seconds = {}
    for table in tables:
        if table.function not in FUNCTIONS or table.way:
            continue
        if table.nprocs != nprocs:
            raise Unreadable(
                f"it has run on {table.nprocs} ranks in place of {nprocs}; it must be built for "
                "this library"
            )
        type = "" if table.function == "MPI_Barrier" else table.type
        for time in table.columns.get(statistic, ()):
            cell = ProgramCell(table.function, time.bytes, type, table.op)
            seconds[Reading(loop, cell)] = time.seconds
    if not seconds:
        raise Unreadable(f"its output has no times: {stdout.strip()[-300:]!r}")
    return seconds
