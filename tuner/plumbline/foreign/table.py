"""Tables of other programs: what they are as records, and how their numbers are read. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from plumbline.core.plan import FUNCTIONS_IN_PARTS, MESSAGE_FUNCTIONS_IN_BLOCKS
from plumbline_db.errors import PlumblineError, UsageError

MOST_ROWS = 100_000  # of a file
_MOST_SECONDS = 1e6
_MOST_BYTES = 2**62
_MOST_RANKS = 2**31 - 1


class GivenTime(msgspec.Struct, frozen=True):
    """A number that the program gives for calls of `bytes` (a volume, as all of ours are); `n`: of
    so many repetitions (1: it does not say)."""

    bytes: int
    seconds: float
    n: int = 1


class GivenTable(msgspec.Struct, frozen=True):
    """One operation on `nprocs` ranks in one start of the program. `columns`: by the name of what
    the program calls it (`avg`, `max`), its rows. `type`, `op`: empty where it does not say."""

    function: str
    nprocs: int
    columns: dict[str, list[GivenTime]]
    type: str = ""
    op: str = ""


class GivenOutput(msgspec.Struct, frozen=True):
    """The output that was read. `version`: of the program; `started`: ISO 8601, '' where it does
    not say; `left_out`: what is no time of a call; `missing`: what a whole output has and this one
    lacks."""

    version: str
    tables: list[GivenTable]
    started: str = ""
    left_out: list[str] = []
    missing: list[str] = []


class OutputFormat(Protocol):
    """`name`: of the program, in lower case; `title`: as people know it."""

    name: str
    title: str

    def recognises(self, text: str) -> bool: ...

    def read(self, text: str, nprocs: int | None) -> GivenOutput:
        """`nprocs`: where the text does not say it. Raises UnreadableError, or UsageError where
        that is needed and missing."""
        ...


class UnreadableError(PlumblineError):
    """The text is not what it seems to be."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}; take the program's output as it printed it")


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?\Z")


def seconds(text: str, in_a_second: float, line: int) -> float:
    """Return the seconds of a number of units of which so many are a second. Raises UnreadableError
    for what is no time."""
    value = float(text) / in_a_second if _NUMBER.match(text) and len(text) < 40 else math.nan
    if not 0 <= value <= _MOST_SECONDS:
        raise UnreadableError(line, f"{text[:40]!r} is not a time")
    return value


def whole(text: str, line: int, most: int = _MOST_BYTES) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > most:
        raise UnreadableError(line, f"{text[:40]!r} is not a valid number here")
    return int(text)


def ranks(text: str, line: int) -> int:
    count = whole(text, line, _MOST_RANKS)
    if count < 1:
        raise UnreadableError(line, "the number of ranks is 0")
    return count


def needed(nprocs: int | None, title: str) -> int:
    if nprocs is None:
        raise UsageError(f"{title} does not print the number of ranks: give it with --nprocs")
    return nprocs


def volume(function: str, size: int, nprocs: int, totals: frozenset[str] = frozenset()) -> int:
    """The volume of a size of OSU or IMB, which is the vector of one process, or the block that one
    process has for another; of `totals` a size is the volume already, cut to whole blocks. A
    non-blocking function has that of its blocking sister."""
    bare = function.removeprefix("MPI_I")
    sister = f"MPI_{bare.capitalize()}" if function.startswith("MPI_I") and bare else function
    blocks = sister in MESSAGE_FUNCTIONS_IN_BLOCKS
    if sister in totals:
        return size // nprocs * nprocs if blocks else size
    return size * nprocs if blocks or sister in FUNCTIONS_IN_PARTS else size


def plain(name: str) -> str:
    """Return of a program's own word what can stand in the name of a curve."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:100]


def is_number(words: Sequence[str]) -> bool:
    return bool(words) and bool(_NUMBER.match(words[0]))


class GivenColumns:
    """Rows as they come in, by the name of their column."""

    def __init__(self) -> None:
        self.found: dict[str, list[GivenTime]] = {}
        self._rows = 0

    def add(self, name: str, row: GivenTime, line: int) -> None:
        """Times of 0 are what a clock could not see: they are left out."""
        self._rows += 1
        if self._rows > MOST_ROWS:
            raise UnreadableError(line, f"the file has more than {MOST_ROWS} numbers")
        if row.seconds > 0:
            self.found.setdefault(name, []).append(row)
