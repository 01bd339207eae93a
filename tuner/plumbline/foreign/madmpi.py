"""MadMPI benchmark: `# bench: NAME begin` … `end`, with a line a size: its least time, two
bandwidths, and of its times median, quartiles, deciles, mean and largest, all in µs. Between two
ranks, but for collectives."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plumbline.core.printed_text import Line

from . import table

_BEGIN = re.compile(r"\s*# bench: *(\S{1,200}) +begin")
_END = re.compile(r"\s*# bench: *\S+ +end")
_VERSION = re.compile(r"\s*# *(?:MadMPI|madmpi|NewMadeleine)[^\n]*?(\d[\w.-]*)")
_COLLECTIVE = re.compile(r"bcast|reduce|gather|scatter|alltoall|barrier|coll")
# The columns after the size; None stands for a bandwidth.
_COLUMNS = ("min", None, None, "median", "q1", "q3", "d1", "d9", "avg", "max")


class Madmpi:
    name = "madmpi"
    title = "MadMPI benchmark"
    begins = re.compile(f"{_BEGIN.pattern}|{_VERSION.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        version = ""
        benches: list[tuple[str, table.GivenColumns]] = []
        left_out = table.LeftOut()
        missing: list[str] = []
        name = ""  # of the bench that goes on
        for line in lines:
            begun, stated_version = _BEGIN.match(line.text), _VERSION.match(line.text)
            version = version or (stated_version[1] if stated_version else "")
            words = line.text.replace("|", " ").split()
            if begun or _END.match(line.text):
                missing += _unended(name if begun else "")
                name = begun[1] if begun else ""
                benches += [(name, table.GivenColumns(name, left_out))] if begun else []
            elif name and table.is_number(words):
                try:
                    _row(words, line.number, benches[-1][1])
                except table.UnreadableError:
                    left_out.add(table.BROKEN, f"line {line.number}")
        missing += _unended(name)
        tables = []
        for bench, columns in benches:
            nprocs, apart = (
                ranks.of(bench, self.title) if _COLLECTIVE.search(bench.lower()) else (2, "")
            )
            tables.append(
                table.GivenTable(f"madmpi-{table.plain(bench)}", nprocs, columns.found, apart=apart)
            )
        return table.GivenOutput(version, tables, "", left_out.sentences(), missing)


def _unended(name: str) -> list[str]:
    return [f"the end of bench {table.plain(name)}"] if name else []


def _row(words: list[str], number: int, columns: table.GivenColumns) -> None:
    size, *values = words
    if len(values) < 4:
        raise table.UnreadableError(number, "expected size, time, two bandwidths and a median")
    times = [
        (column, table.GivenTime(table.whole(size, number), table.seconds(value, 1e6, number)))
        for column, value in zip(_COLUMNS, values, strict=False)
        if column is not None
    ]
    for column, row in times:
        columns.add(column, row, number)
