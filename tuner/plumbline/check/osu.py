"""OSU Micro-Benchmarks: osu_allreduce and its sisters, one program a function. What counts is their
"Avg Latency", the mean over iterations and ranks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from plumbline.foreign import osu
from plumbline.foreign.osu import FUNCTIONS, TOTALS
from plumbline.foreign.table import volume
from plumbline_db.errors import UsageError

from .cells import ProgramCell
from .programs import Program, Seconds, Wanted, powers, printed

COLUMN = "osu_*"
_WARMUP = 10


def program_of(function: str) -> str:
    return "osu_" + function.removeprefix("MPI_").lower()


class Osu(Program):
    name = "OSU"
    loops: Sequence[str] = (COLUMN,)

    def __init__(self, programs: dict[str, Path], nprocs: int, iterations: int) -> None:
        """`programs` by function."""
        self._programs = programs
        self._nprocs = nprocs
        self._iterations = iterations

    def offers(self, wanted: Wanted) -> list[ProgramCell]:
        return [
            ProgramCell(function, self._volume(function, size))
            for function in self._programs
            for size in powers(function, wanted, totals=TOTALS)
        ]

    def launches(
        self, offered: Sequence[ProgramCell], loops: Sequence[str], seed: int
    ) -> list[list[str]]:
        del loops, seed
        return [
            self._words(function, low, high)
            for function in dict.fromkeys(cell.function for cell in offered)
            for low, high in self._runs(function, offered)
        ]

    def read(self, words: Sequence[str], folder: Path, stdout: str) -> Seconds:
        del words, folder
        return printed(osu.Osu(), stdout, self._nprocs, COLUMN, "avg")

    def _volume(self, function: str, size: int) -> int:
        return volume(function, size, self._nprocs, totals=TOTALS)

    def _runs(self, function: str, offered: Sequence[ProgramCell]) -> Iterator[tuple[int, int]]:
        """The sizes as the program takes them: from one to another, doubled; several where some in
        between are not wanted."""
        wanted = {cell.bytes for cell in offered if cell.function == function}
        if function == "MPI_Barrier":
            yield 0, 0
            return
        sizes = [
            size
            for size in (1 << power for power in range(40))
            if self._volume(function, size) in wanted
        ]
        starts = [0, *(place for place, (a, b) in enumerate(pairwise(sizes), 1) if b != 2 * a)]
        for start, end in pairwise([*starts, len(sizes)]):
            yield sizes[start], sizes[end - 1]

    def _words(self, function: str, low: int, high: int) -> list[str]:
        words = [str(self._programs[function]), "-x", str(_WARMUP), "-i", str(self._iterations)]
        return words if function == "MPI_Barrier" else [*words, "-m", f"{low}:{high}"]


def find(folder: Path | None) -> dict[str, Path]:
    """Return its programs, by function: those below `folder`, or on PATH. Raises UsageError where
    the folder has none."""
    programs: dict[str, Path] = {}
    for function in FUNCTIONS:
        name = program_of(function)
        if folder is None:
            on_path = shutil.which(name)
            places = [Path(on_path)] if on_path else []
        else:
            places = [path for path in sorted(folder.rglob(name)) if shutil.which(str(path))]
        if places:
            programs[function] = places[0].absolute()
    if folder is not None and not programs:
        raise UsageError(
            f"there is no osu_allreduce or sister of it below {folder}; name the folder that OSU "
            "Micro-Benchmarks were built or installed in"
        )
    return programs
