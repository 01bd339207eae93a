"""OSU Micro-Benchmarks: a title, names of columns, a line a size. One file may hold several outputs
one after the other. Bandwidths and message rates are no times of calls, and are left out."""

from __future__ import annotations

import re

from plumbline.core.plan import REDUCTIONS

from .table import (
    GivenColumns,
    GivenOutput,
    GivenTable,
    GivenTime,
    is_number,
    needed,
    seconds,
    volume,
    whole,
)

FUNCTIONS = (
    *("MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv"),
    *("MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Reduce"),
    *("MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"),
)
# The size of these functions is the whole vector, which the program divides.
TOTALS = frozenset({"MPI_Reduce_scatter", "MPI_Reduce_scatter_block"})
_TITLE = re.compile(r"# OSU MPI(?:-[\w-]+)? *(.*?) *Test(?: v([\w.]+))?\s*\Z")
_TYPE = re.compile(r"# Datatype: (\w+)")
_SPLIT = re.compile(r"\s{2,}")
# Names in titles that differ from the function's name.
_WORDS = {
    "broadcast": "bcast",
    "all-to-all": "alltoall",
    "all-to-allv": "alltoallv",
    "all-to-allw": "alltoallw",
}
_COLLECTIVES = {name.removeprefix("MPI_").lower() for name in FUNCTIONS} | {"alltoallw"}


class Osu:
    name = "osu"
    title = "OSU Micro-Benchmarks"

    def recognises(self, text: str) -> bool:
        return re.search(r"^# OSU MPI", text, re.MULTILINE) is not None

    def read(self, text: str, nprocs: int | None) -> GivenOutput:
        count = needed(nprocs, self.title)
        tables: list[GivenTable] = []
        left_out: list[str] = []
        missing: list[str] = []
        version = ""
        parts: list[tuple[int, str, list[str]]] = []
        for number, line in enumerate(text.splitlines(), 1):
            begun = _TITLE.match(line)
            if begun:
                version = begun[2] or version
                parts.append((number, begun[1], []))
            if parts:
                parts[-1][2].append(line)
        for first, title, lines in parts:
            table = _table(title, lines, first, count)
            if table.columns:
                tables.append(table)
            elif any(is_number(line.split()) for line in lines):
                left_out.append(title or "Latency")
            else:
                missing.append(f"all numbers of {title or 'Latency'}")
        return GivenOutput(version, tables, left_out=left_out, missing=missing)


def _function(title: str) -> str:
    """The MPI function of a title; where there is none, the program by its own words."""
    words = title.lower().removesuffix("latency").split()
    immediate = bool(words) and words[0] == "non-blocking"
    name = next((_WORDS.get(word, word) for word in words[immediate:]), "")
    if name not in _COLLECTIVES:
        return "osu_" + "_".join(re.findall(r"[a-z0-9]+", title.lower()) or ["latency"])
    return f"MPI_I{name}" if immediate else f"MPI_{name.capitalize()}"


def _table(title: str, lines: list[str], first: int, nprocs: int) -> GivenTable:
    function = _function(title)
    columns, names, type = GivenColumns(), [""], ""
    for number, line in enumerate(lines, first):
        match = _TYPE.match(line)
        type = match[1] if match else type
        if line.startswith("#"):
            words = _SPLIT.split(line.lstrip("# ").strip())
            if words[0] == "Size" or words[-1].endswith("(us)"):
                names = words
            continue
        values = line.split()
        if not is_number(values):
            continue
        if len(values) != len(names):
            continue  # a table of another kind
        given = dict(zip(names, values, strict=True))
        size = whole(given["Size"], number) if "Size" in given else 0
        n = max(1, whole(given.get("Iterations", "1"), number))
        for name, value in given.items():
            if name.endswith("(us)"):
                row = GivenTime(
                    volume(function, size, nprocs, TOTALS), seconds(value, 1e6, number), n
                )
                columns.add(_short(name), row, number)
    reduces = function.replace("MPI_I", "MPI_") in REDUCTIONS
    return GivenTable(function, nprocs, columns.found, type, "MPI_SUM" if reduces else "")


def _short(name: str) -> str:
    """`avg` of `Avg Latency(us)`."""
    bare = name.removesuffix("(us)").strip().lower().removesuffix("latency")
    return "-".join(re.findall(r"[a-z0-9]+", bare)) or "avg"
