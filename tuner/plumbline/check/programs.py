"""Programs that check winners: which cells they measure, inside the ranges of winners, on and off
the sizes that the campaign measured; what a benchmark program offers here and hands back; and our
own program `loops` (probes/loops), the loops of the common benchmark programs around plain calls,
all cells in one launch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import msgspec

from plumbline.campaign.other_uses import kinds, other_counts
from plumbline.core import printed_text as text
from plumbline.core.cell import Target
from plumbline.core.plan import (
    COUNT_SHAPES,
    EQUAL_COUNTS,
    MESSAGE_FUNCTIONS_IN_BLOCKS,
    REDUCTIONS,
    TYPE_BYTES,
    Data,
)
from plumbline.core.winner import deciding, is_for
from plumbline.foreign.osu import FUNCTIONS
from plumbline.foreign.table import GivenRanks, OutputFormat, volume
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Winner


class ProgramCell(msgspec.Struct, frozen=True, order=True):
    """`bytes` is the volume n of docs/plan-and-records.md. `type` and `op` are empty where the
    program does not say what it sends; `op` also where nothing is reduced."""

    function: str
    bytes: int
    type: str = ""
    op: str = ""
    counts: str = EQUAL_COUNTS

    def words(self) -> str:
        counts = "" if self.counts == EQUAL_COUNTS else f"counts={self.counts}"
        words = (self.function, f"{self.bytes} B", self.type, self.op, counts)
        return " ".join(word for word in words if word)


def place_of(winners: Sequence[Winner], cell: ProgramCell) -> int | None:
    """Return which of the winners answers calls of the cell."""
    winner = deciding(winners, Target(cell.function, cell.bytes))
    return (
        None
        if winner is None or not is_for(winner, cell.type, cell.counts)
        else winners.index(winner)
    )


def whole(function: str, size: int, width: int, nprocs: int) -> int:
    """The volume that `size` bytes come to in whole elements of `width` bytes, and whole blocks."""
    unit = _unit(function, width, nprocs)
    return -(-size // unit) * unit


def cells(
    winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]], nprocs: int, data: Data
) -> list[ProgramCell]:
    """All cells of the winners: the sizes that the campaign has measured (`sizes`, by function), in
    the type that it had (`data`) and the others that winners are tried with; one size between each
    two, with an odd count; in the campaign's type all of them in each count shape of the function.
    """
    seen_cells: list[ProgramCell] = []
    for function, measured in sizes.items():
        every = kinds(function, data)
        for each in every[:1] if function == "MPI_Barrier" else every:
            width = TYPE_BYTES[each.type]
            op = each.op if function in REDUCTIONS else ""
            points = [whole(function, size, width, nprocs) for size in measured]
            points += _between(winners, function, points, width, nprocs)
            own = each.type == data.of(function).type
            made = [
                ProgramCell(function, size, each.type, op, counts)
                for counts in (EQUAL_COUNTS, *(other_counts(function) if own else ()))
                for size in points
            ]
            seen_cells += [cell for cell in made if place_of(winners, cell) is not None]
    return sorted(set(seen_cells))


def _between(
    winners: Sequence[Winner], function: str, points: Iterable[int], width: int, nprocs: int
) -> Iterator[int]:
    """Sizes that nobody has measured: between two that were, and between those and the ends of the
    range. Of a winner that is for the process as a whole there are none."""
    unit = _unit(function, width, nprocs)
    for winner in winners:
        if winner.function in (EVERY_FUNCTION, "MPI_Barrier") or winner.function != function:
            continue
        ends = [winner.bytes_from, winner.bytes_to]
        inside = [size for size in points if ends[0] <= size <= ends[1]]
        sizes_known = {*inside, *(end for end in ends if unit <= end < UNBOUNDED_BYTES)}
        for low, high in pairwise(sorted(sizes_known)):
            size = (round(math.sqrt(low * high) / unit) | 1) * unit
            if low < size < high:
                yield size


def _unit(function: str, width: int, nprocs: int) -> int:
    return width * (nprocs if function in MESSAGE_FUNCTIONS_IN_BLOCKS else 1)


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


# The loops as the program calls them -> the columns of a table.
COLUMNS = {
    "osu": "osu loop",
    "imb": "imb loop",
    "stream": "stream",
    "barrier": "after barrier",
    "synchronised": "synchronised",
}
TYPES = ("MPI_BYTE", "MPI_CHAR", "MPI_INT", "MPI_FLOAT", "MPI_DOUBLE")
OPS = ("MPI_SUM", "MPI_MAX", "MPI_BOR")
_OUT = "times.ndjson"
_WARMUP = 5
_BUDGET_MS = 30  # of a case in a loop, so that long messages take no longer than short ones


class _Head(msgspec.Struct):
    nprocs: int


class _Line(msgspec.Struct):
    case: str
    loop: str
    us: float | None


class Loops(Program):
    name = "loops"
    loops: Sequence[str] = tuple(COLUMNS)

    def __init__(self, program: Path, iterations: int, root: int) -> None:
        self._program = program
        self._options = ["--iterations", str(iterations), "--warmup", str(_WARMUP)]
        self._options += ["--budget-ms", str(_BUDGET_MS)]
        self._options += ["--root", str(root), "--out", f"{FOLDER}/{_OUT}"]

    def offers(self, wanted: Wanted) -> list[ProgramCell]:
        return wanted.cells

    def launches(
        self, offered: Sequence[ProgramCell], loops: Sequence[str], seed: int
    ) -> list[list[str]]:
        chosen = [word for loop in loops for word in ("--loop", loop)]
        cases = [_text(cell) for cell in offered]
        return [[str(self._program), *self._options, "--seed", str(seed), *chosen, *cases]]

    def read(self, words: Sequence[str], folder: Path, stdout: str) -> Seconds:
        del words, stdout
        try:
            head, *lines = (folder / _OUT).read_bytes().splitlines()
            msgspec.json.decode(head, type=_Head)
            records = [msgspec.json.decode(line, type=_Line) for line in lines]
        except (OSError, ValueError) as error:
            raise Unreadable(f"it has written no times ({error})") from error
        return {
            Reading(line.loop, _cell(line.case)): line.us / 1e6
            for line in records
            if line.us is not None and line.us > 0
        }


def _text(cell: ProgramCell) -> str:
    counts = "" if cell.counts == EQUAL_COUNTS else cell.counts
    return ":".join(filter(None, (cell.function, str(cell.bytes), cell.type, cell.op, counts)))


def _cell(text: str) -> ProgramCell:
    function, size, *data = text.split(":")
    counts = data.pop() if data and data[-1] in COUNT_SHAPES else EQUAL_COUNTS
    return msgspec.structs.replace(ProgramCell(function, int(size), *data), counts=counts)
