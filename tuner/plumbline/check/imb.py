"""Intel MPI Benchmarks: IMB-MPI1, all functions in one launch. What counts is their t_max, the
largest of the ranks' means, with -sync on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.core.plan import REDUCTIONS
from plumbline_db.errors import UsageError

from .cells import ProgramCell
from .programs import FOLDER, Reading, Seconds, Unreadable, Wanted
from .sizes import powers, volume

COLUMN = "IMB"
NAME = "IMB-MPI1"
FUNCTIONS = (
    *("MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"),
    *("MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Reduce"),
    *("MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
)
_BY_NAME = {function.removeprefix("MPI_"): function for function in FUNCTIONS}
# Until 2018 the size of Reduce_scatter was the whole vector, since then it is a block.
_OLD_TOTALS = frozenset({"MPI_Reduce_scatter"})
_FIRST_OF_BLOCKS = 2019
_LENGTHS = "lengths"
_YEAR = re.compile(r"MPI Benchmarks (\d{4})")
_DATA = {
    "type": re.compile(r"^# *MPI_Datatype *: *(\w+)", re.MULTILINE),
    "reduced": re.compile(r"^# *MPI_Datatype for reductions *: *(\w+)", re.MULTILINE),
    "op": re.compile(r"^# *MPI_Op *: *(\w+)", re.MULTILINE),
}
_SECTION = re.compile(r"^# *Benchmarking +(\w+)", re.MULTILINE)
_RANKS = re.compile(r"^# *#processes *= *(\d+)", re.MULTILINE)


class Imb:
    name = "IMB"
    loops: Sequence[str] = (COLUMN,)

    def __init__(self, program: Path, nprocs: int, iterations: int) -> None:
        self._program = program
        self._nprocs = nprocs
        self._iterations = iterations

    def offers(self, wanted: Wanted) -> list[ProgramCell]:
        """Of Reduce_scatter both meanings of a size: which it is, the output says."""
        found = [
            ProgramCell(function, volume(function, size, self._nprocs, totals=totals))
            for function in FUNCTIONS
            for totals in dict.fromkeys((frozenset[str](), _OLD_TOTALS & {function}))
            for size in powers(function, wanted, totals=totals)
        ]
        return sorted(set(found))

    def launches(
        self, offered: Sequence[ProgramCell], loops: Sequence[str], seed: int
    ) -> list[list[str]]:
        del loops, seed
        names = dict.fromkeys(cell.function.removeprefix("MPI_") for cell in offered)
        words = [str(self._program), "-npmin", str(self._nprocs), "-iter", str(self._iterations)]
        words += ["-iter_policy", "off", "-sync", "on", "-msglen", f"{FOLDER}/{_LENGTHS}"]
        return [[*words, *names]]

    def prepare(self, offered: Sequence[ProgramCell], folder: Path) -> None:
        sizes = {size for cell in offered for size in self._sizes(cell)}
        lines = "".join(f"{size}\n" for size in sorted(sizes)) or "0\n"
        (folder / _LENGTHS).write_text(lines)

    def read(self, words: Sequence[str], folder: Path, stdout: str) -> Seconds:
        del words, folder
        year = _YEAR.search(stdout)
        if year is None:
            raise Unreadable(f"that is no output of IMB: {stdout.strip()[-300:]!r}")
        totals = _OLD_TOTALS if int(year[1]) < _FIRST_OF_BLOCKS else frozenset()
        data = {
            name: (found[1] if (found := pattern.search(stdout)) else "")
            for name, pattern in _DATA.items()
        }
        seconds: dict[Reading, float] = {}
        _, *parts = _SECTION.split(stdout)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            function = _BY_NAME.get(name)
            ranks = _RANKS.search(text)
            if function is None:
                continue
            if ranks is None or int(ranks[1]) != self._nprocs:
                raise Unreadable(
                    f"it has run on {ranks[1] if ranks else 'no'} ranks in place of "
                    f"{self._nprocs}; it must be built for this library"
                )
            reduces = function in REDUCTIONS
            for size, us in _rows(text):
                moved = volume(function, size, self._nprocs, totals=totals)
                type = "" if function == "MPI_Barrier" else data["reduced" if reduces else "type"]
                cell = ProgramCell(function, moved, type, data["op"] if reduces else "")
                if us > 0:
                    seconds[Reading(COLUMN, cell)] = us / 1e6
        if not seconds:
            raise Unreadable(f"its output has no times: {stdout.strip()[-300:]!r}")
        return seconds

    def _sizes(self, cell: ProgramCell) -> Iterator[int]:
        """Those that come to the cell, by any of its meanings."""
        for totals in (frozenset[str](), _OLD_TOTALS):
            for size in (1 << power for power in range(40)):
                if volume(cell.function, size, self._nprocs, totals=totals) == cell.bytes:
                    yield size


def _rows(text: str) -> Iterator[tuple[int, float]]:
    """(size, t_max) of a table; Barrier has no sizes."""
    lines = iter(text.splitlines())
    columns: list[str] = []
    for line in lines:
        words = line.split()
        if "t_max[usec]" in words:
            columns = words
        elif columns and len(words) == len(columns):
            try:
                values = dict(zip(columns, map(float, words), strict=True))
            except ValueError:
                continue
            yield int(values.get("#bytes", 0)), values["t_max[usec]"]


def find(named: Path | None, mpirun: Path) -> Path | None:
    """The program that is named, else the one beside `mpirun`, else the one on PATH. Raises
    UsageError where the named one is none."""
    if named is not None:
        inside = named / NAME if named.is_dir() else named
        if not shutil.which(str(inside.absolute())):
            raise UsageError(f"{inside} is no program; name an {NAME}, or the folder of one")
        return inside.absolute()
    found = shutil.which(NAME, path=str(mpirun.parent)) or shutil.which(NAME)
    return Path(found).absolute() if found else None
