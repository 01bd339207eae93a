"""Common benchmark programs that are installed. Of the OSU Micro-Benchmarks, one program a
function, their "Avg Latency" counts, the mean over iterations and ranks; of the Intel MPI
Benchmarks, all functions in one launch, their t_max, the largest of the ranks' means, with -sync
on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from plumbline.campaign.in_force import ActiveFiles
from plumbline.check.programs import FOLDER, Program, ProgramCell, Seconds, Wanted, powers, printed
from plumbline.foreign import imb, osu
from plumbline.foreign.imb import OLD_TOTALS
from plumbline.foreign.osu import FUNCTIONS, TOTALS
from plumbline.foreign.table import volume
from plumbline_db.errors import UsageError

OSU_COLUMN = "osu_*"
_WARMUP = 10


def program_of(function: str) -> str:
    return "osu_" + function.removeprefix("MPI_").lower()


class Osu(Program):
    name = "OSU"
    loops: Sequence[str] = (OSU_COLUMN,)

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
        return printed(osu.Osu(), stdout, self._nprocs, OSU_COLUMN, "avg")

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


def find_osu(folder: Path | None) -> dict[str, Path]:
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


IMB_COLUMN = "IMB"
NAME = "IMB-MPI1"
_LENGTHS = "lengths"


class Imb:
    name = "IMB"
    loops: Sequence[str] = (IMB_COLUMN,)

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
        return printed(imb.Imb(), stdout, self._nprocs, IMB_COLUMN, "max")

    def _sizes(self, cell: ProgramCell) -> Iterator[int]:
        """Return those that come to the cell, by any of its meanings."""
        for totals in (frozenset[str](), OLD_TOTALS):
            for size in (1 << power for power in range(40)):
                if volume(cell.function, size, self._nprocs, totals=totals) == cell.bytes:
                    yield size


def find_imb(named: Path | None, mpirun: Path) -> Path | None:
    """The program that is named, else the one beside `mpirun`, else the one on PATH. Raises
    UsageError where the named one is none."""
    if named is not None:
        inside = named / NAME if named.is_dir() else named
        if not shutil.which(str(inside.absolute())):
            raise UsageError(f"{inside} is no program; name an {NAME}, or the folder of one")
        return inside.absolute()
    path = shutil.which(NAME, path=str(mpirun.parent)) or shutil.which(NAME)
    return Path(path).absolute() if path else None


NONE = Path("none")  # in place of a folder or a program: without them


def programs(
    found: ActiveFiles, osu_folder: Path | None, imb_program: Path | None, iterations: int
) -> list[Program]:
    """Return those that are named, or else found. Raises UsageError where what is named is none."""
    nprocs = found.settings.ranks.nprocs
    made: list[Program] = []
    if osu_folder != NONE:
        by_function = find_osu(osu_folder)
        if by_function:
            made.append(Osu(by_function, nprocs, iterations))
    if imb_program != NONE:
        program = find_imb(imb_program, found.toolchain.installation.mpirun)
        if program is not None:
            made.append(Imb(program, nprocs, iterations))
    return made
