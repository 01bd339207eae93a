"""Tables of other programs: the records that they become, and how their numbers are read. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import msgspec

from plumbline.core.plan import (
    FUNCTIONS_IN_PARTS,
    MESSAGE_FUNCTIONS_IN_BLOCKS,
    blocking,
    with_forms,
)
from plumbline.core.printed_text import Line
from plumbline_db.errors import PlumblineError, UsageError

MOST_ROWS = 100_000  # of a file
_MOST_SECONDS = 1e6
_MOST_BYTES = 2**62
_MOST_RANKS = 2**31 - 1
_EXAMPLES = 6  # places that a kind of what is left out is named with
_IN_PARTS = FUNCTIONS_IN_PARTS | with_forms({"MPI_Alltoallw"})

# Kinds of what is left out.
NO_TIMES = "no times of calls"
BROKEN = "rows that cannot be read"
AFTER_TEXT = "numbers after text of another kind"
NOT_MEASURED = "sizes that the program did not measure"
ZERO = "times of 0"
WRONG = "results that the program calls wrong"
OTHER_LIBRARY = "tables of other libraries"
DEVIATIONS = "columns that are no times of calls"


class GivenTime(msgspec.Struct, frozen=True):
    """A number that the program gives for calls of `bytes` (a volume, as all of ours are); `n`: of
    so many repetitions (1: it does not say)."""

    bytes: int
    seconds: float
    n: int = 1


class GivenTable(msgspec.Struct, frozen=True):
    """One operation on `nprocs` ranks in one start of the program. `columns`: by the name of what
    the program calls it (`avg`, `max`), its rows. `type`, `op`: empty where it does not say. `way`:
    words of its title that distinguish it from a plain table (`cuda`, `aggregate`). `apart`: what
    else distinguishes it; tables that differ in anything but their rows are never one curve.
    `nodes`: 0 where it does not say."""

    function: str
    nprocs: int
    columns: dict[str, list[GivenTime]]
    type: str = ""
    op: str = ""
    way: str = ""
    apart: str = ""
    nodes: int = 0


class GivenOutput(msgspec.Struct, frozen=True):
    """The output that was read. `version`: of the program; `started`: ISO 8601, '' where it does
    not say; `left_out`: a sentence for each kind of what is left out; `missing`: what a whole
    output has and this one lacks; `doubts`: what a reader should check."""

    version: str
    tables: list[GivenTable]
    started: str = ""
    left_out: list[str] = []
    missing: list[str] = []
    doubts: list[str] = []

    def checked(self, ranks: GivenRanks) -> GivenOutput:
        """Return the output without tables that have no numbers, and with doubts about ranks."""
        tables = [table for table in self.tables if table.columns]
        return msgspec.structs.replace(self, tables=tables, doubts=ranks.doubts())

    @property
    def numbers(self) -> int:
        return sum(len(rows) for table in self.tables for rows in table.columns.values())


class OutputFormat(Protocol):
    """`name`: of the program, in lower case; `title`: as people know it; `begins`: a line with
    which its output begins, or goes on after the output of another program."""

    name: str
    title: str
    begins: re.Pattern[str]

    def read(self, lines: Sequence[Line], ranks: GivenRanks) -> GivenOutput:
        """Raises UnreadableError, or UsageError where the number of ranks is missing."""
        ...


class UnreadableError(PlumblineError):
    """The text is not what it seems to be."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}; take the program's output as it printed it")


class GivenRanks:
    """The numbers of ranks that the user gives for tables that do not say theirs: one for all, or
    one for each table of a title, in the order of the text."""

    def __init__(self, given: Sequence[int] = ()) -> None:
        self._given = given
        self._seen: Counter[str] = Counter()

    def of(self, title: str, program: str) -> tuple[int, str]:
        """Return the ranks of the next table of a title, and what tells it from earlier ones: where
        one number is given for several equal tables, nobody has said that they repeat each
        other."""
        place = self._seen[title]
        self._seen[title] += 1
        if not self._given:
            raise UsageError(
                f"{program} does not print the number of ranks: give it with --nprocs, or one "
                "number for each table of the same title (--nprocs 2,4 for a scaling log)"
            )
        if len(self._given) == 1:
            return self._given[0], f"table {place + 1}" if place else ""
        if place >= len(self._given):
            raise UsageError(
                f"{place + 1} tables are called {title}, but --nprocs has {len(self._given)} "
                "numbers: give one for each of them"
            )
        return self._given[place], ""

    def doubts(self) -> list[str]:
        """Return a sentence about equal tables for which only one number was given."""
        several = [title for title, count in self._seen.items() if count > 1]
        if len(self._given) != 1 or not several:
            return []
        titles = ", ".join(several[:_EXAMPLES])
        return [
            f"several tables of {titles} without ranks, all read as {self._given[0]} ranks, each "
            "as a curve of its own: give --nprocs for each, as 2,4 for a scaling log, or 4,4 where "
            "they repeat each other"
        ]


class LeftOut:
    """A count of what is not taken, by kind and place."""

    def __init__(self) -> None:
        self._places: dict[str, Counter[str]] = {}

    def add(self, kind: str, place: str) -> None:
        self._places.setdefault(kind, Counter())[place[:100]] += 1

    def sentences(self) -> list[str]:
        """Return one sentence for each kind."""
        return [f"{kind}: {_listed(places)}" for kind, places in self._places.items()]


def _listed(places: Counter[str]) -> str:
    words = [
        f"{place} ({count})" if count > 1 else place
        for place, count in list(places.items())[:_EXAMPLES]
    ]
    more = len(places) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")


_WHOLE = re.compile(r"\s*([0-9]{1,19})(?:\s|\Z)")
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


def volume(function: str, size: int, nprocs: int, totals: frozenset[str] = frozenset()) -> int:
    """Return the volume of a size of OSU or IMB, which is the vector of one process, or the block
    that one process has for another; of `totals` a size is the volume already, cut to whole blocks.
    A non-blocking or persistent function has that of its blocking sister."""
    blocks = function in MESSAGE_FUNCTIONS_IN_BLOCKS
    if blocking(function) in totals:
        return size // nprocs * nprocs if blocks else size
    return size * nprocs if blocks or function in _IN_PARTS else size


def plain(name: str) -> str:
    """Return of a program's own word what can stand in the name of a curve."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:100]


def is_number(words: Sequence[str]) -> bool:
    return bool(words) and bool(_NUMBER.match(words[0]))


class Grid:
    """The columns that numbers of a table stand in. After text of another kind, only rows that
    stand in the same columns belong to the table: a warning may interrupt a table, and another
    table may follow it."""

    def __init__(
        self, header: str = "", names: Sequence[str] = (), *, growing: bool = True
    ) -> None:
        self._spans = _named_spans(header, names)
        self._growing = growing
        self._size = -1
        self.interrupted = False
        self.ended = False

    def refuses(self, text: str, columns: int) -> str:
        """Return the kind of what a line of numbers is, if it is no row of so many columns of this
        table; '' for a row. A line in other columns after other text ends the table."""
        spans = _spans(text)
        if not self.ended and len(spans) != columns:
            self.interrupted = True
            return BROKEN
        number = _WHOLE.match(text)
        size = int(number[1]) if number and self._growing else self._size + 1
        if self.interrupted and not self.ended:
            in_columns = len(spans) == len(self._spans) and all(
                start == begin or stop == end
                for (start, stop), (begin, end) in zip(spans, self._spans, strict=True)
            )
            self.ended = not in_columns or size <= self._size
        if self.ended:
            return AFTER_TEXT
        self._spans, self._size = spans, size
        self.interrupted = False
        return ""


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def _named_spans(header: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the names stand in a header; the first one begins with its mark `#`."""
    end = 0
    spans: list[tuple[int, int]] = []
    for name in names:
        start = header.index(name, end)
        end = start + len(name)
        spans.append((start if spans else len(header) - len(header.lstrip()), end))
    return spans


class GivenColumns:
    """Rows as they come in, by the name of their column. `title` names them in what is left
    out."""

    def __init__(self, title: str, left_out: LeftOut) -> None:
        self.found: dict[str, list[GivenTime]] = {}
        self._title = title
        self._left_out = left_out
        self._rows = 0

    def add(self, name: str, row: GivenTime, line: int) -> None:
        """Add a row. A time of 0 is one that the program's clock could not see: it is left out."""
        self._rows += 1
        if self._rows > MOST_ROWS:
            raise PlumblineError(f"line {line}: the file has more than {MOST_ROWS} numbers")
        if row.seconds > 0:
            self.found.setdefault(name, []).append(row)
        else:
            self._left_out.add(ZERO, f"{self._title} {name}")
