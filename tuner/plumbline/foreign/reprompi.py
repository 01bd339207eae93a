"""ReproMPI: `#@` facts, names of columns, and a line a size (its summary), a line a repetition, or
a line a repetition and process; of repetitions the median is taken. Facts or names of columns
after lines of numbers begin another output."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from plumbline.core.printed_text import Line

from . import table

_FACT = re.compile(r"\s*#@(\w+)=(.*)")
_HEADER = re.compile(
    r"\s*(?:process +)?test +(?:nrep +)?(?:msize\w*|count)\b|\s*(?:process +)?test +nrep"
)
_TIME = re.compile(r"(mean|median|min|max)(?:_sec)?\Z")
_KNOWN = re.compile(
    r"(test|process|nrep|count|msize|msize_bytes|total_nrep|valid_nrep|errorcode"
    r"|runtime_sec|(?:loc|gl)_t(?:start|end)_sec)\Z"
)
# Facts that change nothing in what is measured.
_OF_THE_RUN = frozenset({"nprocs", "nrep", "reproMPIcommitSHA1", "datatype", "operation"})


class Reprompi:
    name = "reprompi"
    title = "ReproMPI"
    begins = re.compile(f"{_FACT.pattern}|{_HEADER.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        left_out = table.LeftOut()
        outputs = [_Block({}, [], left_out)]
        for line in lines:
            words = line.text.split()
            fact, is_header = _FACT.match(line.text), _HEADER.match(line.text)
            if (fact or is_header) and outputs[-1].rows:
                outputs.append(_Block({} if fact else outputs[-1].facts, [], left_out))
            if fact:
                outputs[-1].facts[fact[1]] = fact[2].strip()
            elif is_header:
                outputs[-1].names = words
            elif outputs[-1].names and words and not words[0].startswith("#"):
                outputs[-1].row(line, words)
        tables = [given for output in outputs for given in output.tables(ranks, self.title)]
        version = outputs[-1].facts.get("reproMPIcommitSHA1", "")[:12]
        return table.GivenOutput(version, tables, "", left_out.sentences())


class _Block:
    """Rows under the same facts and names of columns."""

    def __init__(self, facts: dict[str, str], names: list[str], left_out: table.LeftOut) -> None:
        self.facts = facts
        self.names = names
        self.rows: list[tuple[int, dict[str, str]]] = []
        self._left_out = left_out

    def row(self, line: Line, words: list[str]) -> None:
        if len(words) == len(self.names):
            self.rows.append((line.number, dict(zip(self.names, words, strict=True))))
        else:
            self._left_out.add(table.BROKEN, f"line {line.number}")

    def tables(self, ranks_given: table.GivenRanks, program: str) -> list[table.GivenTable]:
        """Return a table for each function. Raises UsageError where the ranks are missing."""
        if not self.rows:
            return []
        for name in self.names:
            if not (_KNOWN.match(name) or _TIME.match(name)):
                self._left_out.add(table.DEVIATIONS, name)
        nprocs, apart = self._nprocs(ranks_given, program)
        is_raw = "nrep" in self.names
        columns: dict[str, table.GivenColumns] = {}
        times: dict[tuple[str, int], dict[str, list[dict[str, float]]]] = {}
        for number, given in self.rows:
            try:
                place = self._place(given, number, nprocs)
                if is_raw:
                    name = given["nrep"] if "process" in self.names else f"line {number}"
                    parts = times.setdefault(place, {}).setdefault(name, [])
                    parts.append({})  # what it is where the row cannot be read
                    parts[-1] = self._repetition(given, number, place)
                else:
                    self._summary(given, number, place, columns)
            except (table.UnreadableError, KeyError):
                self._left_out.add(table.BROKEN, f"line {number}")
        for (function, bytes), repetitions in times.items():
            durations = [_duration(parts) for parts in repetitions.values() if all(parts)]
            measured = [duration for duration in durations if duration > 0]
            if len(measured) < len(durations):
                self._left_out.add(table.ZERO, f"{function} {bytes} B")
            if measured:
                row = table.GivenTime(bytes, statistics.median(measured), len(measured))
                self._of(columns, function).add("median", row, 0)
        facts = [f"{name}={self.facts[name]}" for name in sorted(self.facts.keys() - _OF_THE_RUN)]
        told_apart = " ".join([*facts, apart, " ".join(self.names)])
        type, op = self.facts.get("datatype", ""), self.facts.get("operation", "")
        return [
            table.GivenTable(function, nprocs, each.found, type, op, apart=told_apart)
            for function, each in columns.items()
        ]

    def _nprocs(self, ranks_given: table.GivenRanks, program: str) -> tuple[int, str]:
        if "nprocs" in self.facts:
            return table.ranks(self.facts["nprocs"], self.rows[0][0]), ""
        return ranks_given.of(" ".join(sorted({given["test"] for _, given in self.rows})), program)

    def _place(self, given: dict[str, str], number: int, nprocs: int) -> tuple[str, int]:
        """Return the function and the volume of a row."""
        test = table.plain(given["test"])
        function = test if test.startswith("MPI_") else f"reprompi-{test}"
        extent = table.whole(self.facts.get("datatype_extent_bytes", "1"), number, 4096)
        if "msize_bytes" in given:
            size = table.whole(given["msize_bytes"], number)
        else:
            size = table.whole(given.get("count") or given["msize"], number, 2**40) * extent
        return function, table.volume(function, size, nprocs)

    def _of(self, columns: dict[str, table.GivenColumns], function: str) -> table.GivenColumns:
        return columns.setdefault(function, table.GivenColumns(function, self._left_out))

    def _repetition(
        self, given: dict[str, str], number: int, place: tuple[str, int]
    ) -> dict[str, float]:
        """Return the times of a repetition, of one process or of all; none where the program marks
        it as wrong."""
        if given.get("errorcode", "0") != "0":
            self._left_out.add(table.WRONG, f"{place[0]} {place[1]} B, errorcode")
            return {}
        return {
            name: table.seconds(value, 1.0, number)
            for name, value in given.items()
            if name.endswith("_sec")
        }

    def _summary(
        self,
        given: dict[str, str],
        number: int,
        place: tuple[str, int],
        columns: dict[str, table.GivenColumns],
    ) -> None:
        function, bytes = place
        n = max(1, table.whole(given.get("valid_nrep", given.get("total_nrep", "1")), number))
        for name, value in given.items():
            if (column := _TIME.match(name)) is not None:
                row = table.GivenTime(bytes, table.seconds(value, 1.0, number), n)
                self._of(columns, function).add(column[1], row, number)


def _duration(parts: list[dict[str, float]]) -> float:
    """Return the seconds of one repetition: by a global clock from the first start to the last end,
    otherwise of the slowest process."""
    if "gl_tend_sec" in parts[0] and "gl_tstart_sec" in parts[0]:
        last = max(part.get("gl_tend_sec", 0.0) for part in parts)
        return last - min(part.get("gl_tstart_sec", 0.0) for part in parts)
    if "loc_tend_sec" in parts[0] and "loc_tstart_sec" in parts[0]:
        return max(
            part.get("loc_tend_sec", 0.0) - part.get("loc_tstart_sec", 0.0) for part in parts
        )
    return max(part.get("runtime_sec", 0.0) for part in parts)
