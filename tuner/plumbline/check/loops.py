"""Our own program `loops` (probes/loops): the loops of the common benchmark programs around plain
calls, all cells in one launch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from plumbline.core.plan import COUNT_SHAPES, EQUAL_COUNTS

from .cells import ProgramCell
from .programs import FOLDER, Program, Reading, Seconds, Unreadable, Wanted

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
