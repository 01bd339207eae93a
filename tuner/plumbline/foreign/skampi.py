"""SKaMPI 5 and 6: `begin result "NAME"`, lines of parameters, the size in bytes, time, standard
error, repetitions and a time a rank; all times in µs."""

from __future__ import annotations

import re

from .table import (
    GivenColumns,
    GivenOutput,
    GivenTable,
    GivenTime,
    UnreadableError,
    needed,
    plain,
    ranks,
    seconds,
    volume,
    whole,
)

_VERSION = re.compile(r"# *SKaMPI Version ([\w.]+(?: rev\. \d+)?)")
_BEGIN = re.compile(r'# *begin result "([^"]{1,200})"|begin result "([^"]{1,200})"')
_END = re.compile(r"#? *end result")
_PARAMETER = re.compile(r"([A-Za-z_]\w*)= +(\S+) +")
_RANKS = frozenset({"nodes", "nprocs", "procs"})
_FUNCTION = re.compile(r"(MPI_[A-Za-z_]+?)(?:-|$)")
_WITHOUT_SIZE = frozenset({"MPI_Barrier"})


class Skampi:
    name = "skampi"
    title = "SKaMPI"

    def recognises(self, text: str) -> bool:
        return re.search(r'^(?:# *)?begin result "', text, re.MULTILINE) is not None

    def read(self, text: str, nprocs: int | None) -> GivenOutput:
        version = _VERSION.search(text)
        results: list[tuple[str, dict[int, GivenColumns]]] = []
        missing: list[str] = []
        name: str | None = None  # of the result that goes on
        for number, line in enumerate(text.splitlines(), 1):
            begun = _BEGIN.match(line)
            if begun:
                missing += _unended(name)
                name = begun[1] or begun[2]
                results.append((name, {}))
            elif _END.match(line):
                name = None
            elif name is not None and line.strip() and not line.lstrip().startswith("#"):
                _line(name, line, number, nprocs, results[-1][1])
        missing += _unended(name)
        tables = [
            GivenTable(_named(result), count, columns.found)
            for result, rows in results
            for count, columns in rows.items()
            if columns.found
        ]
        return GivenOutput(version[1] if version else "", tables, missing=missing)


def _named(name: str) -> str:
    match = _FUNCTION.match(name)
    return match[1] if match else f"skampi-{plain(name)}"


def _unended(name: str | None) -> list[str]:
    return [] if name is None else [f"the end of result {plain(name)}"]


def _line(
    name: str, line: str, number: int, nprocs: int | None, rows: dict[int, GivenColumns]
) -> None:
    given = dict(_PARAMETER.findall(line))
    values = _PARAMETER.sub("", line).split()
    nprocs_text = next((given[key] for key in given if key in _RANKS), None)
    count = needed(nprocs, Skampi.title) if nprocs_text is None else ranks(nprocs_text, number)
    function = _named(name)
    if function not in _WITHOUT_SIZE:
        size, *values = values or [""]
    else:
        size = "0"
    if len(values) < 3:
        raise UnreadableError(number, "expected time, standard error and repetitions")
    bytes = volume(function, whole(size, number), count)
    row = GivenTime(bytes, seconds(values[0], 1e6, number), max(1, whole(values[2], number)))
    rows.setdefault(count, GivenColumns()).add("mean", row, number)
