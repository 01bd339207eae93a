"""SKaMPI 5 and 6: `begin result "NAME"`, lines of parameters, the size in bytes, time, standard
error, repetitions and a time a rank; all times in µs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from plumbline.core.plan import IN_BLOCKS, REDUCTIONS, WITHOUT_SIZE, blocking
from plumbline.core.printed_text import Line

from . import table

_VERSION = re.compile(r"\s*# *SKaMPI Version ([\w.]+(?: rev\. \d+)?)")
_BEGIN = re.compile(r'\s*(?:# *)?begin result "([^"]{1,200})"')
_END = re.compile(r"\s*#? *end result")
_PARAMETER = re.compile(r"([A-Za-z_]\w*)= *(\S+)\s+")
_RANKS = frozenset({"nodes", "nprocs", "procs"})
# A function, and words that say over what it was measured.
_FUNCTION = re.compile(
    r"(MPI_[A-Za-z_]+)((?:-(?:nodes|procs|nprocs|length|count|size|short|long))*)\Z"
)
_OF_TWO = re.compile(r"ping_?pong", re.IGNORECASE)
_COLLECTIVES = IN_BLOCKS | REDUCTIONS | WITHOUT_SIZE | {"MPI_Bcast", "MPI_Ibcast", "MPI_Bcast_init"}


class _Point(NamedTuple):
    """A line of a result. `ranks`: None where it does not say."""

    number: int
    parameters: dict[str, str]
    ranks: int | None
    size: int
    seconds: float
    n: int


class Skampi:
    name = "skampi"
    title = "SKaMPI"
    begins = _BEGIN

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        version = ""
        results: list[tuple[str, list[_Point]]] = []
        left_out = table.LeftOut()
        missing: list[str] = []
        name: str | None = None  # of the result that goes on
        for line in lines:
            begun, stated_version = _BEGIN.match(line.text), _VERSION.match(line.text)
            version = stated_version[1] if stated_version else version
            if begun:
                missing += _unended(name)
                name = begun[1]
                results.append((name, []))
            elif _END.match(line.text):
                name = None
            elif name is not None and line.text.strip() and not line.text.lstrip().startswith("#"):
                try:
                    results[-1][1].append(_point(_named(name), line))
                except table.UnreadableError:
                    left_out.add(table.BROKEN, f"line {line.number}")
        missing += _unended(name)
        tables = [
            given
            for result, points in results
            for given in _tables(result, points, ranks, left_out)
        ]
        return table.GivenOutput(version, tables, "", left_out.sentences(), missing)


def _named(name: str) -> str:
    match = _FUNCTION.match(name)
    return match[1] if match and match[1] in _COLLECTIVES else f"skampi-{table.plain(name)}"


def _unended(name: str | None) -> list[str]:
    return [] if name is None else [f"the end of result {table.plain(name)}"]


def _point(function: str, line: Line) -> _Point:
    given = dict(_PARAMETER.findall(line.text))
    values = _PARAMETER.sub("", line.text).split()
    count = next((given.pop(key) for key in sorted(given) if key in _RANKS), None)
    if blocking(function) in WITHOUT_SIZE:
        size = "0"
    else:
        size, *values = values or [""]
    if len(values) < 3 or not table.is_number(values):
        raise table.UnreadableError(line.number, "expected time, standard error and repetitions")
    number = line.number
    return _Point(
        number,
        given,
        None if count is None else table.ranks(count, number),
        table.whole(size, number),
        table.seconds(values[0], 1e6, number),
        max(1, table.whole(values[2], number)),
    )


def _tables(
    result: str, points: list[_Point], ranks: table.GivenRanks, left_out: table.LeftOut
) -> Iterator[table.GivenTable]:
    """Yield a table for each number of ranks, and for each value of a parameter that changes while
    the size stays."""
    function = _named(result)
    shared: tuple[int, str] | None = None
    if any(point.ranks is None for point in points):
        shared = (2, "") if _OF_TWO.match(result) else ranks.of(result, Skampi.title)
    nprocs_of = {point.number: point.ranks or (shared[0] if shared else 1) for point in points}
    values: defaultdict[tuple[int, int, str], set[str]] = defaultdict(set)
    for point in points:
        for name, value in point.parameters.items():
            values[nprocs_of[point.number], point.size, name].add(value)
    varied = {name for (_, _, name), several in values.items() if len(several) > 1}
    columns: dict[tuple[int, str], table.GivenColumns] = {}
    for point in points:
        nprocs = nprocs_of[point.number]
        ways = [f"{name}-{point.parameters.get(name, '')}" for name in sorted(varied)]
        place = nprocs, table.plain("-".join(ways))
        row = table.GivenTime(table.volume(function, point.size, nprocs), point.seconds, point.n)
        columns.setdefault(place, table.GivenColumns(result, left_out)).add(
            "mean", row, point.number
        )
    for (nprocs, way), each in columns.items():
        apart = f"{result} {shared[1]}".strip() if shared else result
        yield table.GivenTable(function, nprocs, each.found, way=way, apart=apart)
