"""Intel MPI Benchmarks, also 3.x, 4.x and Pallas': a section a function, mode and number of ranks,
with the least, largest and mean of the ranks' means. Columns that are no times are left out. It
lists what it will do, and says when it is through."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from plumbline.core.plan import REDUCTIONS
from plumbline.core.printed_text import Line

from . import table
from .osu import FUNCTIONS

_TITLE = re.compile(r"\s*#.*\bMPI Benchmark(?:s| Suite)\s+V?(\d[\w. ]*?)\s*(?:,\s*(.*?))?\s*\Z")
_SECTION = re.compile(r"\s*# *Benchmarking +(\S+)")
_RANKS = re.compile(r"\s*# *\(? *#processes *= *(\d+)(?: *\(threads: *(\d+)\))?")
_GROUPS = re.compile(r"\s*# *\( *(\d+) groups of (\d+) processes")
_MODE = re.compile(r"\s*# +MODE: *([\w-]+)|\s*# *(window_size *= *\d+)")
_FACT = re.compile(
    r"\s*# *(MPI_Datatype for reductions|MPI_Datatype|MPI_Op|Date|MPI Version) *: *(.*)"
)
_CALL = re.compile(r"\s*# *Calling sequence was")
_CALL_GOES_ON = re.compile(r"\s*#\s{2,}\S")
_COMMENT = re.compile(r"\s*# *(\S.*)")
_MEMORY = re.compile(r"-mem_alloc_type[ =](?!cpu\b)(\w+)", re.IGNORECASE)
_LIST = re.compile(r"\s*# *List of Benchmarks to run")
_LISTED = re.compile(r"\s*# *(?:\(Multi-\))?([A-Za-z][\w-]*) *\Z")
_END = re.compile(r"\s*# *All processes entering MPI_Finalize")
_COLUMN = re.compile(r"(?:t_)?(\w+?)\[usec\]\Z")
_NOT_MEASURED = re.compile(r"(?:\d+\s+)?(\d+)\s+(time-out|out-of-mem|int-overflow)")
_MULTI = "Multi-"
OLD_TOTALS = frozenset({"MPI_Reduce_scatter"})  # until 2018 a size was the whole vector
_FIRST_OF_BLOCKS = 2019


def _by_name() -> dict[str, str]:
    """Return the function of each name of a benchmark, with `_persist` and without `_pure`."""
    names: dict[str, str] = {}
    for function in FUNCTIONS:
        bare = function.removeprefix("MPI_")
        names[bare] = function
        names[f"I{bare.lower()}"] = f"MPI_I{bare.lower()}"
        names[f"{bare}_persist"] = f"{function}_init"
    return names


_BY_NAME = _by_name()


class Imb:
    name = "imb"
    title = "Intel MPI Benchmarks"
    begins = re.compile(f"{_TITLE.pattern}|{_SECTION.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        del ranks  # it says
        output = _Output()
        for line in lines:
            output.line(line)
        output.missing += output.not_reached()
        tables = [each.as_table() for each in output.sections if each.names or each.has_rows]
        return table.GivenOutput(
            output.version,
            tables,
            output.started,
            output.left_out.sentences(),
            output.missing,
        )


class _Output:
    """The sections as they come in."""

    def __init__(self) -> None:
        self.version = ""
        self.started = ""
        self.sections: list[_Section] = []
        self.missing: list[str] = []
        self.left_out = table.LeftOut()
        self._part = ""
        self._facts: dict[str, str] = {}
        self._section: _Section | None = None  # the one that goes on
        self._listed: list[str] = []  # what is still to come
        self._lists = False
        self._calls = False

    def line(self, line: Line) -> None:
        text = line.text
        comment = _COMMENT.match(text)
        title, named, fact = _TITLE.match(text), _SECTION.match(text), _FACT.match(text)
        listed = _LISTED.match(text)
        if "call" in self._facts and not _CALL_GOES_ON.match(text):
            self._calls = False
        if title:
            self.missing += self.not_reached()
            self._section, self._listed, self._lists = None, [], False
            self.version, self._part, self._facts = title[1], title[2] or "", {}
        elif _CALL.match(text):
            self._calls = True
        elif self._calls and comment:
            self._facts["call"] = f"{self._facts.get('call', '')} {comment[1]}".strip()
        elif self._section and self._section.has_rows and _MODE.match(text):
            self._section = self._section.in_another_mode()
            self.sections.append(self._section)
            self._section.line(line)
        elif _LIST.match(text):
            self._lists = True
        elif _END.match(text):
            self._section, self._listed = None, []
        elif self._lists and listed and not self._section:
            self._listed.append(listed[1].removeprefix(_MULTI))
        elif fact:
            self._facts[fact[1]] = fact[2].strip()
            self.started = self.started or _time(self._facts.get("Date", ""))
        elif named:
            self._section, self._lists = self._begun(named[1]), False
            self.sections.append(self._section)
            bare = named[1].removeprefix(_MULTI)
            self._listed = [name for name in self._listed if name != bare]
        elif self._section:
            self._section.line(line)

    def _begun(self, name: str) -> _Section:
        major = re.match(r"\d+", self.version)
        is_old = major is not None and int(major[0]) < _FIRST_OF_BLOCKS
        memory = _MEMORY.search(self._facts.get("call", ""))
        ways = ["gpu"] if "GPU" in self._part else []
        ways += [memory[1].lower()] if memory else []
        totals = OLD_TOTALS if is_old else frozenset[str]()
        return _Section(name, totals, self._facts, ways, self.left_out)

    def not_reached(self) -> list[str]:
        """Return what an output lacks that ends here: the program says when it is through."""
        ends = []
        if self._section and self._part:
            ends = [f"the end of the program's output, which breaks off in {self._section.name}"]
        return ends + [f"all of {table.plain(name)}" for name in self._listed[:20]]


class _Section:
    def __init__(
        self,
        name: str,
        totals: frozenset[str],
        facts: dict[str, str],
        ways: list[str],
        left_out: table.LeftOut,
    ) -> None:
        self.name = table.plain(name)
        bare = name.removesuffix("_pure")
        self._function = _BY_NAME.get(bare, f"IMB-{self.name}")
        self._in_groups = _BY_NAME.get(bare.removeprefix(_MULTI), self._function)
        is_pure = bare != name and bare in _BY_NAME
        self._ways = [*ways, "pure"] if is_pure else list(ways)
        self._mode = ""
        self._totals = totals
        self._facts = facts
        self._left_out = left_out
        self._nprocs: int | None = None
        self._grid = table.Grid()
        self.names: list[str] = []
        self.has_rows = False
        self._columns = table.GivenColumns(self.name, left_out)

    def in_another_mode(self) -> _Section:
        """Return a section of the same benchmark on the same ranks, without rows."""
        section = _Section(self.name, self._totals, self._facts, self._ways, self._left_out)
        section._nprocs, section.names = self._nprocs, self.names
        return section

    def line(self, line: Line) -> None:
        text = line.text
        count, groups, mode = _RANKS.match(text), _GROUPS.match(text), _MODE.match(text)
        words = text.split()
        if count:
            self._nprocs = table.ranks(count[1], line.number)
            self._ways += [f"{count[2]}-threads"] if count[2] else []
        elif groups:
            self._nprocs = table.ranks(groups[2], line.number)
            self._ways.append(f"{groups[1]}-groups")
        elif mode:
            self._mode = table.plain((mode[1] or mode[2]).lower().replace(" ", ""))
        elif "#repetitions" in words and not self.has_rows:
            self.names = words
            self._grid = table.Grid(text, words, growing="Group" not in words)
        elif table.is_number(words):
            self.has_rows = True
            self._row(line, words)
        else:
            self._grid.interrupted = True

    def _row(self, line: Line, words: list[str]) -> None:
        skipped = _NOT_MEASURED.match(" ".join(words))
        if skipped:
            self._left_out.add(table.NOT_MEASURED, f"{self.name} {skipped[1]} B ({skipped[2]})")
        elif refused := self._grid.refuses(line.text, len(self.names)):
            self._left_out.add(refused, f"line {line.number}")
        elif not any(_COLUMN.match(name) for name in self.names):
            self._left_out.add(table.NO_TIMES, self.name)
        else:
            self._take(dict(zip(self.names, words, strict=True)), line.number)

    def _take(self, given: dict[str, str], number: int) -> None:
        if self._nprocs is None:
            raise table.UnreadableError(
                number, f"{self.name} does not say on how many ranks it ran"
            )
        if not table.is_number([given.get("defects", "0")]):
            self._left_out.add(table.BROKEN, f"line {number}")
            return
        if float(given.get("defects", "0")) > 0:
            place = f"{self.name} {given.get('#bytes', '0')} B, defects {given['defects']}"
            self._left_out.add(table.WRONG, place)
            return
        group = given.get("Group")
        suffix = f"-group-{table.plain(group)}" if group and self.name.startswith(_MULTI) else ""
        try:
            size = table.whole(given.get("#bytes", "0"), number)
            n = max(1, table.whole(given["#repetitions"], number))
            bytes = table.volume(self._in_groups, size, self._nprocs, self._totals)
            times = [
                (
                    column[1].lower() + suffix,
                    table.GivenTime(bytes, table.seconds(value, 1e6, number), n),
                )
                for name, value in given.items()
                if (column := _COLUMN.match(name))
            ]
        except table.UnreadableError:
            self._left_out.add(table.BROKEN, f"line {number}")
            return
        for name, row in times:
            self._columns.add(name, row, number)

    def as_table(self) -> table.GivenTable:
        reduces = self._in_groups in REDUCTIONS
        type = self._facts.get("MPI_Datatype for reductions" if reduces else "MPI_Datatype", "")
        op = self._facts.get("MPI_Op", "") if reduces else ""
        way = "-".join([*self._ways, *([self._mode] if self._mode else [])])
        apart = " ".join(f"{name}: {fact}" for name, fact in self._facts.items() if name != "Date")
        nprocs = self._nprocs or 1
        return table.GivenTable(self._function, nprocs, self._columns.found, type, op, way, apart)


def _time(text: str) -> str:
    """Return ISO 8601 of `Tue Nov 24 10:40:18 2026`, of no known time zone; '' for other texts."""
    try:
        return datetime.datetime.strptime(text, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return ""
