"""PICO: the table `aggregated_results_summary.csv`, a line a collective, algorithm and size, with
times in ns. A file of single runs has neither the collective nor the size, and is left out."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from plumbline.core.plan import REDUCTIONS, name_of
from plumbline.core.printed_text import Line

from . import table

_SUMMARY = re.compile(r'\s*"?(?:\w*"?,"?)*collective_type"?,.*\bbuffer_size\b')
_SINGLE = re.compile(r"\s*highest(?:,rank\d+)*\s*\Z")
_TIMES = (
    *("median", "mean", "min", "max"),
    *("percentile_10", "percentile_25", "percentile_75", "percentile_90"),
)
_NO_TIMES = ("std", "iqr", "standard_error", "ci_lower", "ci_upper")
# Columns that distinguish two rows of one collective, size and number of ranks.
_APART = (
    *("system", "timestamp", "test_id", "mpi_lib", "mpi_lib_version", "nnodes"),
    *("tasks_per_node", "gpu_lib", "notes", "libbine_version"),
)


class Pico:
    name = "pico"
    title = "PICO"
    begins = re.compile(f"{_SUMMARY.pattern}|{_SINGLE.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        del ranks  # nodes and tasks a node are columns
        left_out = table.LeftOut()
        tables: dict[tuple[str, ...], table.GivenTable] = {}
        names: list[str] = []
        for line in lines:
            if _SINGLE.match(line.text):
                names = []
                left_out.add("a file of single runs, without collective and size", "highest")
            elif _SUMMARY.match(line.text):
                names = next(csv.reader([line.text]))
            elif names and line.text.strip():
                try:
                    _row(names, line, tables, left_out)
                except (table.UnreadableError, KeyError, ValueError, csv.Error):
                    left_out.add(table.BROKEN, f"line {line.number}")
        for name in _NO_TIMES:
            if name in names:
                left_out.add(table.DEVIATIONS, name)
        return table.GivenOutput("", list(tables.values()), "", left_out.sentences())


def _row(
    names: list[str],
    line: Line,
    tables: dict[tuple[str, ...], table.GivenTable],
    left_out: table.LeftOut,
) -> None:
    """Take one row. Raises UnreadableError, KeyError or ValueError where it is not as expected."""
    number = line.number
    (values,) = csv.reader([line.text])
    given = {name: value.strip() for name, value in zip(names, values, strict=True)}
    function = name_of(given["collective_type"])
    nodes, tasks = (
        table.whole(given["nnodes"], number),
        table.whole(given.get("tasks_per_node", "1"), number),
    )
    nprocs = table.ranks(str(nodes * tasks), number)
    ways = [table.plain(given["algo_name"])] if given.get("algo_name") else []
    ways += ["gpu"] if given.get("gpu_awareness", "no").lower() in ("yes", "1", "true") else []
    apart = " ".join(f"{name}={given[name]}" for name in _APART if given.get(name))
    reduces = function in REDUCTIONS
    op = given.get("MPI_Op", "") if reduces else ""
    type, way = given.get("datatype", ""), "-".join(ways)
    key = (function, str(nprocs), way, type, apart)
    made = table.GivenTable(function, nprocs, {}, type, op, way, apart, nodes)
    bytes = table.whole(given["buffer_size"].removesuffix(".0"), number)
    n = max(1, table.whole(given.get("n_iter", "1"), number))
    rows = {
        name: table.GivenTime(bytes, table.seconds(given[name], 1e9, number), n)
        for name in _TIMES
        if given.get(name)
    }
    columns = table.GivenColumns(given["collective_type"], left_out)
    for name, row in rows.items():
        columns.add(name, row, number)
    taken = tables.setdefault(key, made).columns
    for name, several in columns.found.items():
        taken.setdefault(name, []).extend(several)
