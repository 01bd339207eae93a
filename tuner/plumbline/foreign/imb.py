"""Intel MPI Benchmarks: a section a function and number of ranks, with the least, largest and mean
of the ranks' means. Columns that are no times are left out. It lists what it will do, and says when
it is through."""

from __future__ import annotations

import datetime
import re

from plumbline.core.plan import REDUCTIONS

from .osu import FUNCTIONS
from .table import (
    GivenColumns,
    GivenOutput,
    GivenTable,
    GivenTime,
    UnreadableError,
    is_number,
    plain,
    ranks,
    seconds,
    volume,
    whole,
)

_TITLE = re.compile(r"MPI Benchmarks (\d{4}[\w. ]*)")
_SECTION = re.compile(r"# *Benchmarking +(\S+)")
_RANKS = re.compile(r"# *#processes *= *(\d+)")
_FACT = re.compile(
    r"# *(MPI_Datatype for reductions|MPI_Datatype|MPI_Op|Date|MPI Version) *: *(.*)"
)
_LIST = re.compile(r"# *List of Benchmarks to run")
_LISTED = re.compile(r"# *([A-Za-z]\w*) *\Z")
_END = re.compile(r"# *All processes entering MPI_Finalize")
_COLUMN = re.compile(r"(?:t_)?(\w+?)\[usec\]\Z")
_BY_NAME = {function.removeprefix("MPI_"): function for function in FUNCTIONS}
OLD_TOTALS = frozenset({"MPI_Reduce_scatter"})  # until 2018 a size was the whole vector
_FIRST_OF_BLOCKS = 2019


class Imb:
    name = "imb"
    title = "Intel MPI Benchmarks"

    def recognises(self, text: str) -> bool:
        return _TITLE.search(text) is not None and "# Benchmarking " in text

    def read(self, text: str, nprocs: int | None) -> GivenOutput:
        del nprocs  # it says
        title = _TITLE.search(text)
        version = title[1].strip(" ,") if title else ""
        totals = OLD_TOTALS if int(version[:4] or 0) < _FIRST_OF_BLOCKS else frozenset[str]()
        facts: dict[str, str] = {}
        sections: list[_Section] = []
        missing: list[str] = []
        section: _Section | None = None  # the one that goes on
        listed: list[str] = []  # what is still to come
        lists = False
        for number, line in enumerate(text.splitlines(), 1):
            fact, named, to_come = _FACT.match(line), _SECTION.match(line), _LISTED.match(line)
            if _TITLE.search(line):
                missing += _not_reached(section, listed)
                section, listed, lists = None, [], False
            elif _LIST.match(line):
                lists = True
            elif _END.match(line):
                section, listed = None, []
            elif lists and to_come and not section:
                listed.append(to_come[1])
            elif fact:
                facts.setdefault(fact[1], fact[2].strip())
            elif named:
                section, lists = _Section(named[1], totals), False
                sections.append(section)
                listed = [name for name in listed if name != named[1]]
            elif section:
                section.line(line, number)
        missing += _not_reached(section, listed)
        started = _time(facts.get("Date", ""))
        tables = [table for each in sections if (table := each.table(facts)).columns]
        return GivenOutput(version, tables, started, missing=missing)


def _not_reached(section: _Section | None, listed: list[str]) -> list[str]:
    """Return what an output lacks that ends there: the program says when it is through."""
    ends = (
        [f"the end of the program's output, which breaks off in {section.name}"] if section else []
    )
    return ends + [f"all of {plain(name)}" for name in listed[:20]]


class _Section:
    def __init__(self, name: str, totals: frozenset[str]) -> None:
        self.name = plain(name)
        self._totals = totals
        self._function = _BY_NAME.get(name, f"IMB-{plain(name)}")
        self._nprocs: int | None = None
        self._names: list[str] = []
        self._columns = GivenColumns()

    def line(self, line: str, number: int) -> None:
        count = _RANKS.match(line)
        words = line.split()
        if count:
            self._nprocs = ranks(count[1], number)
        elif any(_COLUMN.match(word) for word in words):
            self._names = words
        elif is_number(words) and len(words) == len(self._names):
            self._row(dict(zip(self._names, words, strict=True)), number)

    def _row(self, given: dict[str, str], number: int) -> None:
        if self._nprocs is None:
            raise UnreadableError(number, f"{self.name} does not say on how many ranks it ran")
        given_size = whole(given.get("#bytes", "0"), number)
        n = max(1, whole(given.get("#repetitions", "1"), number))
        size = volume(self._function, given_size, self._nprocs, self._totals)
        for name, value in given.items():
            column = _COLUMN.match(name)
            if column:
                row = GivenTime(size, seconds(value, 1e6, number), n)
                self._columns.add(column[1].lower(), row, number)

    def table(self, facts: dict[str, str]) -> GivenTable:
        reduces = self._function in REDUCTIONS
        type = facts.get("MPI_Datatype for reductions" if reduces else "MPI_Datatype", "")
        return GivenTable(
            self._function,
            self._nprocs or 1,
            self._columns.found,
            type,
            facts.get("MPI_Op", "") if reduces else "",
        )


def _time(text: str) -> str:
    """`Tue Nov 24 10:40:18 2026`, of no known time zone."""
    try:
        return datetime.datetime.strptime(text, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return ""
