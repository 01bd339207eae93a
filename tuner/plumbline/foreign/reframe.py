"""ReFrame: performance logs of its checks. Since version 4 a line names the columns, and each
performance variable has its value and unit; before, each line is one variable. Variables in units
of time become times of the check, which is all that a log says of them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from plumbline.core.printed_text import Line

from . import table

_HEADER = re.compile(r"\s*(?:[^|,\s]+[|,])*[^|,\s]+_value[|,]")
_OLD = re.compile(
    r"\s*[^|]*\|(?:reframe )?(\d+\.\d[\w.+-]*)\|(?P<check>[^|]+)\|jobid=[^|\s]*\|"
    r"(?:num_tasks=(\d+)\|)?(?P<name>[\w.-]+)=(?P<value>[^|]*)\|(?P<rest>.*)"
)
_OLD_UNIT = re.compile(r"(?:.*\|)?\s*(?P<unit>[A-Za-zµ/]+)\s*(?:\|.*)?\Z")
_IN_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "usec": 1e6, "ns": 1e9}
_IN_A_SECOND |= {"seconds": 1.0, "sec": 1.0, "microseconds": 1e6, "milliseconds": 1e3}


class Reframe:
    name = "reframe"
    title = "ReFrame"
    begins = re.compile(f"{_HEADER.pattern}|{_OLD.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        reader = _Log(ranks)
        version = ""
        for line in lines:
            old = _OLD.match(line.text)
            if _HEADER.match(line.text):
                reader.header(line.text)
            elif old:
                version = old[1]
                unit = _OLD_UNIT.match(old["rest"])
                check = old["check"].partition(" on ")
                tasks = old[3] or ""
                facts = (_first_word(check[0]), check[2], tasks)
                reader.value(facts, old["name"], old["value"], unit["unit"] if unit else "", line)
            elif line.text.strip():
                reader.row(line)
        return table.GivenOutput(version, reader.tables, "", reader.left_out.sentences())


def _first_word(check: str) -> str:
    return (check.split() or ["check"])[0]


class _Log:
    """Each line of a log is a start of a check of its own."""

    def __init__(self, ranks: table.GivenRanks) -> None:
        self.tables: list[table.GivenTable] = []
        self.left_out = table.LeftOut()
        self._ranks = ranks
        self._names: list[str] = []
        self._mark = "|"

    def header(self, text: str) -> None:
        self._mark = "|" if "|" in text else ","
        self._names = text.strip().split(self._mark)

    def row(self, line: Line) -> None:
        try:
            values = next(csv.reader([line.text.strip()], delimiter=self._mark), [])
        except csv.Error:  # a field that is too long
            values = []
        if not self._names or len(values) != len(self._names):
            self.left_out.add(table.BROKEN, f"line {line.number}")
            return
        given = dict(zip(self._names, values, strict=True))
        if given.get("result", "pass").lower() not in ("pass", "passed", "success"):
            self.left_out.add(table.WRONG, f"line {line.number}, result {given['result']}")
            return
        check = next(
            (given[name] for name in ("display_name", "unique_name", "name") if given.get(name)),
            "check",
        )
        places = " ".join(
            given.get(name, "") for name in ("system", "partition", "environ") if given.get(name)
        )
        facts = _first_word(check), f"{places} {check}", given.get("num_tasks", "")
        for name in self._names:
            if name.endswith("_value"):
                variable = name.removesuffix("_value")
                unit = given.get(f"{variable}_unit", "")
                self.value(facts, variable, given[name], unit, line)

    def value(
        self, facts: tuple[str, str, str], name: str, value: str, unit: str, line: Line
    ) -> None:
        """Take one value. `facts`: the check, what tells its runs apart, and its tasks."""
        check, apart, tasks = facts
        if unit not in _IN_A_SECOND:
            self.left_out.add(table.NO_TIMES, f"{name} ({unit or 'no unit'})")
            return
        try:
            row = table.GivenTime(0, table.seconds(value, _IN_A_SECOND[unit], line.number))
            nprocs = table.whole(tasks, line.number, 2**31 - 1) if tasks.isdigit() else 0
        except table.UnreadableError:
            self.left_out.add(table.BROKEN, f"line {line.number}")
            return
        if nprocs < 1:
            nprocs = self._ranks.of(f"line {line.number}", Reframe.title)[0]
        columns = table.GivenColumns(check, self.left_out)
        columns.add(table.plain(name), row, line.number)
        self.tables.append(
            table.GivenTable(
                f"reframe-{table.plain(check)}", nprocs, columns.found, apart=apart.strip()
            )
        )
