"""OSU Micro-Benchmarks, versions 1 to 7: a title, names of columns, a line a size. One file may
hold several outputs one after the other. All words of a title decide what a table is of; tables of
its programs for other libraries are left out, as are bandwidths and message rates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from plumbline.core.plan import REDUCTIONS, with_forms
from plumbline.core.printed_text import Launch, Line, launch

from . import table

FUNCTIONS = (
    *("MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"),
    *("MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Reduce"),
    *("MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
)
# The size of these functions is the whole vector, which the program divides.
TOTALS = frozenset({"MPI_Reduce_scatter", "MPI_Reduce_scatter_block"})
_TITLE = re.compile(
    r"\s*#\s*(?:OSU|(OMB)(?:-Py| Python))\s+(.*?)(?:\s*\bTest\b)+"
    r"\s*(?:v([\w.-]+)|\(Version ([\w.]+)\))?\s*\Z",
    re.IGNORECASE,
)
_LIBRARY = re.compile(r"MPI(?:_(\w+))?(?:-([A-Z]+(?: MANAGED)?))?(?:\s+|\Z)(.*)")
_NAMES = {name.removeprefix("MPI_").lower(): name for name in (*FUNCTIONS, "MPI_Alltoallw")} | {
    "broadcast": "MPI_Bcast",
    "all-to-all": "MPI_Alltoall",
    "all-to-allv": "MPI_Alltoallv",
    "all-to-allw": "MPI_Alltoallw",
}
_COLLECTIVE = re.compile(
    rf"(non-blocking )?({'|'.join(sorted(_NAMES, key=len, reverse=True))})"
    r"(?: personalized exchange)?( persistent)? ?latency"  # 7.5 has an ExchangeLatency
)
_OF_TWO = frozenset(
    (
        *("latency", "latency persistent", "persistent latency", "ping-pong latency"),
        *("multi-threaded latency", "multi-process latency", "put latency", "get latency"),
        *("accumulate latency", "get_accumulate latency", "fetch_and_op latency"),
        *("compare_and_swap latency", "partitioned latency"),
    )
)
_STARTUP = frozenset({"hello world", "init"})
_TYPE = re.compile(r"\s*# Datatype: (\w+)")
_HEADER = re.compile(r"\s*#\s*(?:Size\b|.*\(us\)|.*\bMB/s)")
_BARE_HEADER = re.compile(r"\s*(?:[A-Z]\w*\.?(?: \w+\.?)? ?\((?:us|%)\)\s*)+\Z")  # Ibarrier to 5.9
_COLUMN = re.compile(
    r"Transmit Size|Size|Iterations|Validation|Messages/s|[A-Za-z]\S*(?: [\w.]+)*? ?\([^)]*\)|\S+"
)
_WINDOW = re.compile(r"\s*# (?:Window creation|Synchronization|Window): *(\w+)")
_PLACES = re.compile(r"\bon \w+ \(([A-Z]+)\)")
_PREAMBLE = re.compile(r"\s*# Overall = ")


class _Part(NamedTuple):
    """The lines from a title to the next one, and the launch that stands before the title."""

    title: re.Match[str]
    launch: Launch | None
    lines: list[Line]


class _Named(NamedTuple):
    """The meaning of a title. `words`: all of its words; `device`: where the buffers are."""

    function: str
    words: str
    device: str


class Osu:
    name = "osu"
    title = "OSU Micro-Benchmarks"
    begins = _TITLE

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        tables: list[table.GivenTable] = []
        left_out = table.LeftOut()
        missing: list[str] = []
        version = ""
        for part in _parts(lines):
            version = part.title[3] or part.title[4] or version
            named = None if part.title[1] else _named(part.title[2])
            if named is None:
                left_out.add(table.OTHER_LIBRARY, part.title[0].strip("# \t"))
                continue
            rows = _Rows(named, part, left_out)
            rows.read()
            if rows.numbers:
                tables.append(rows.as_table(ranks, self.title))
            elif not rows.has_rows and named.words not in _STARTUP:
                missing.append(f"all numbers of {part.title[2].removeprefix('MPI').strip()}")
        return table.GivenOutput(version, tables, "", left_out.sentences(), missing)


def _parts(lines: Sequence[Line]) -> Iterator[_Part]:
    part: _Part | None = None
    before: Launch | None = None
    for line in lines:
        title = _TITLE.match(line.text)
        if title:
            if part:
                yield part
            part, before = _Part(title, before, []), None
            continue
        before = launch(line.text) or before
        if part:
            part.lines.append(line)
    if part:
        yield part


def _named(title: str) -> _Named | None:
    """Return what a title is about; None for a library other than MPI."""
    library = _LIBRARY.match(title)
    if not library:
        return None
    operation, device, rest = library.groups()
    words = " ".join(f"{operation or ''} {rest}".lower().split())
    collective = _COLLECTIVE.fullmatch(words)
    function = "osu_" + "_".join(re.findall(r"[a-z0-9]+", words) or ["latency"])
    if collective and not (collective[1] and collective[3]):
        function = _NAMES[collective[2]]
        if collective[1]:
            function = f"MPI_I{function.removeprefix('MPI_').lower()}"
        elif collective[3]:
            function = f"{function}_init"
    return _Named(function, words, (device or "").lower())


class _Rows:
    """The rows of one table, before its number of ranks is known."""

    def __init__(self, named: _Named, part: _Part, left_out: table.LeftOut) -> None:
        self._named = named
        self._part = part
        self._left_out = left_out
        self._type = ""
        self._ways = [named.device] if named.device else []
        self._facts: list[str] = []
        self.has_rows = False
        self.numbers: list[tuple[Line, dict[str, str]]] = []

    def read(self) -> None:
        """Take the rows under the names of columns; other lines may stand between them."""
        names: list[str] = []
        grid = table.Grid()
        for line in self._part.lines:
            text = line.text
            is_header = _HEADER.match(text) and not _PREAMBLE.match(text)
            if not self.has_rows and (is_header or _BARE_HEADER.match(text)):
                names = _COLUMN.findall(text.strip().lstrip("# "))
                grid = table.Grid(text, names)
            elif text.lstrip().startswith("#"):
                grid.interrupted = grid.interrupted or self.has_rows
                self._fact(text)
            elif not table.is_number(text.split()):
                grid.interrupted = True
            else:
                self._row(line, names, grid)

    def _fact(self, text: str) -> None:
        if self.has_rows:
            return
        type, window, places = _TYPE.match(text), _WINDOW.match(text), _PLACES.findall(text)
        self._type = type[1] if type else self._type
        if window or places:
            self._ways.append(window[1] if window else "-".join(places).lower())
        elif not type and not _PREAMBLE.match(text):
            self._facts.append(" ".join(text.split()))

    def _row(self, line: Line, names: list[str], grid: table.Grid) -> None:
        title = self._named.words
        refused = grid.refuses(line.text, len(names))
        self.has_rows = self.has_rows or refused != table.AFTER_TEXT
        if refused:
            self._left_out.add(refused, f"line {line.number}")
            return
        given = dict(zip(names, line.text.split(), strict=True))
        if given.get("Validation", "").lower().startswith("fail"):
            place = f"{title} {given.get('Size', '')} B, validation Fail"
            self._left_out.add(table.WRONG, place)
        elif any(name.endswith("(us)") for name in names):
            self.numbers.append((line, given))
        else:
            self._left_out.add(table.NO_TIMES, title)

    def as_table(self, ranks: table.GivenRanks, program: str) -> table.GivenTable:
        """Return the table. Raises UsageError where its ranks are missing."""
        named = self._named
        columns = table.GivenColumns(named.words, self._left_out)
        stated, apart = self._stated_launch(), ""
        nprocs, nodes = (stated.nprocs, stated.nodes) if stated else (0, 0)
        if not stated:
            title = f"{named.function} {'-'.join(self._ways)}".strip()
            nprocs, apart = ranks.of(title, program)
        for line, given in self.numbers:
            try:
                for name, row in _times(named.function, nprocs, line.number, given):
                    columns.add(name, row, line.number)
            except table.UnreadableError:
                self._left_out.add(table.BROKEN, f"line {line.number}")
        op = "MPI_SUM" if named.function in REDUCTIONS else ""
        way = "-".join(table.plain(word) for word in self._ways)
        facts = " ".join([*self._facts, apart]).strip()
        return table.GivenTable(
            named.function, nprocs, columns.found, self._type, op, way, facts, nodes
        )

    def _stated_launch(self) -> Launch | None:
        """Return the launch before the table, if it is of this program. Tests between two ranks
        have two, whatever it says."""
        function, before = self._named.function, self._part.launch
        if before and "osu_" not in before.command:
            before = None
        if self._named.words in _OF_TWO:
            return Launch("", 2, before.nodes if before else 0)
        bare = function.removeprefix("MPI_").lower().replace("_init", "_persistent")
        is_other = (
            function in _ALL_FORMS and before and not re.search(rf"osu_{bare}\b", before.command)
        )
        return None if is_other else before


_ALL_FORMS = with_forms(_NAMES.values())


def _times(
    function: str, nprocs: int, number: int, given: dict[str, str]
) -> list[tuple[str, table.GivenTime]]:
    """Return a row's times by column. Raises UnreadableError where one of them is none."""
    sent = given.get("Transmit Size", given.get("Size"))
    bytes = table.volume(function, table.whole(sent, number), nprocs, TOTALS) if sent else 0
    n = max(1, table.whole(given.get("Iterations", "1"), number))
    return [
        (_short(name), table.GivenTime(bytes, table.seconds(value, 1e6, number), n))
        for name, value in given.items()
        if name.endswith("(us)")
    ]


def _short(name: str) -> str:
    """Return `avg` of `Avg Latency(us)`."""
    bare = name.removesuffix("(us)").strip().lower().removesuffix("latency")
    return "-".join(re.findall(r"[a-z0-9]+", bare)) or "avg"
