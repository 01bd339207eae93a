"""Intel MPI Benchmarks: IMB-MPI1, all functions in one launch. What counts is their t_max, the
largest of the ranks' means, with -sync on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.foreign import imb
from plumbline.foreign.imb import OLD_TOTALS
from plumbline.foreign.osu import FUNCTIONS
from plumbline.foreign.table import volume
from plumbline_db.errors import UsageError

from .cells import ProgramCell
from .programs import FOLDER, Seconds, Wanted, powers, printed

COLUMN = "IMB"
NAME = "IMB-MPI1"
_LENGTHS = "lengths"


class Imb:
    name = "IMB"
    loops: Sequence[str] = (COLUMN,)

    def __init__(self, program: Path, nprocs: int, iterations: int) -> None:
        self._program = program
        self._nprocs = nprocs
        self._iterations = iterations

    def offers(self, wanted: Wanted) -> list[ProgramCell]:
        """Return of Reduce_scatter both meanings of a size: which it is, the output says."""
        offered = [
            ProgramCell(function, volume(function, size, self._nprocs, totals=totals))
            for function in FUNCTIONS
            for totals in dict.fromkeys((frozenset[str](), OLD_TOTALS & {function}))
            for size in powers(function, wanted, totals=totals)
        ]
        return sorted(set(offered))

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
        return printed(imb.Imb(), stdout, self._nprocs, COLUMN, "max")

    def _sizes(self, cell: ProgramCell) -> Iterator[int]:
        """Return those that come to the cell, by any of its meanings."""
        for totals in (frozenset[str](), OLD_TOTALS):
            for size in (1 << power for power in range(40)):
                if volume(cell.function, size, self._nprocs, totals=totals) == cell.bytes:
                    yield size


def find(named: Path | None, mpirun: Path) -> Path | None:
    """The program that is named, else the one beside `mpirun`, else the one on PATH. Raises
    UsageError where the named one is none."""
    if named is not None:
        inside = named / NAME if named.is_dir() else named
        if not shutil.which(str(inside.absolute())):
            raise UsageError(f"{inside} is no program; name an {NAME}, or the folder of one")
        return inside.absolute()
    path = shutil.which(NAME, path=str(mpirun.parent)) or shutil.which(NAME)
    return Path(path).absolute() if path else None
