"""MadMPI benchmark: `# bench: NAME begin` … `end`, with a line a size: its least time, two
bandwidths, and of its times median, quartiles, deciles, mean and largest, all in µs. Between two
ranks."""

from __future__ import annotations

import re

from .table import (
    GivenColumns,
    GivenOutput,
    GivenTable,
    GivenTime,
    UnreadableError,
    is_number,
    plain,
    seconds,
    whole,
)

_BEGIN = re.compile(r"# bench: *(\S{1,200}) +begin")
_END = re.compile(r"# bench: *\S+ +end")
_VERSION = re.compile(r"# *(?:MadMPI|madmpi|NewMadeleine)[^\n]*?(\d[\w.-]*)")
# The columns after the size; None stands for a bandwidth.
_COLUMNS = ("min", None, None, "median", "q1", "q3", "d1", "d9", "avg", "max")
_RANKS = 2


class Madmpi:
    name = "madmpi"
    title = "MadMPI benchmark"

    def recognises(self, text: str) -> bool:
        return re.search(_BEGIN.pattern, text) is not None

    def read(self, text: str, nprocs: int | None) -> GivenOutput:
        version = _VERSION.search(text)
        benches: list[tuple[str, GivenColumns]] = []
        missing: list[str] = []
        name = ""  # of the bench that goes on
        for number, line in enumerate(text.splitlines(), 1):
            begun = _BEGIN.match(line)
            words = line.replace("|", " ").split()
            if begun or _END.match(line):
                missing += _unended(name if begun else "")
                name = begun[1] if begun else ""
                benches += [(name, GivenColumns())] if begun else []
            elif name and is_number(words):
                _row(words, number, benches[-1][1])
        missing += _unended(name)
        tables = [
            GivenTable(f"madmpi-{plain(bench)}", nprocs or _RANKS, columns.found)
            for bench, columns in benches
            if columns.found
        ]
        return GivenOutput(version[1] if version else "", tables, missing=missing)


def _unended(name: str) -> list[str]:
    return [f"the end of bench {plain(name)}"] if name else []


def _row(words: list[str], number: int, columns: GivenColumns) -> None:
    size, *values = words
    if len(values) < 4:
        raise UnreadableError(number, "expected size, time, two bandwidths and a median")
    for column, value in zip(_COLUMNS, values, strict=False):
        if column is not None:
            row = GivenTime(whole(size, number), seconds(value, 1e6, number))
            columns.add(column, row, number)
