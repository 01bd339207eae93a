"""Output of PICO, MadMPI, ReFrame, ReproMPI and SKaMPI. OSU and IMB, which `plumbline check` runs
itself, have modules of their own."""

from __future__ import annotations

import csv
import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from plumbline.core.plan import IN_BLOCKS, REDUCTIONS, WITHOUT_SIZE, blocking, name_of
from plumbline.core.printed_text import Line
from plumbline.foreign import table

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
    """PICO: the table `aggregated_results_summary.csv`, a line a collective, algorithm and size,
    with times in ns. A file of single runs has neither the collective nor the size, and is left
    out."""

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
                    _take_row(names, line, tables, left_out)
                except (table.UnreadableError, KeyError, ValueError, csv.Error):
                    left_out.add(table.BROKEN, f"line {line.number}")
        for name in _NO_TIMES:
            if name in names:
                left_out.add(table.DEVIATIONS, name)
        return table.GivenOutput("", list(tables.values()), "", left_out.sentences())


def _take_row(
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


_BENCH_BEGIN = re.compile(r"\s*# bench: *(\S{1,200}) +begin")
_BENCH_END = re.compile(r"\s*# bench: *\S+ +end")
_MADMPI_VERSION = re.compile(r"\s*# *(?:MadMPI|madmpi|NewMadeleine)[^\n]*?(\d[\w.-]*)")
_COLLECTIVE = re.compile(r"bcast|reduce|gather|scatter|alltoall|barrier|coll")
# The columns after the size; None stands for a bandwidth.
_COLUMNS = ("min", None, None, "median", "q1", "q3", "d1", "d9", "avg", "max")


class Madmpi:
    """MadMPI benchmark: `# bench: NAME begin` … `end`, with a line a size: its least time, two
    bandwidths, and of its times median, quartiles, deciles, mean and largest, all in µs. Between
    two ranks, but for collectives."""

    name = "madmpi"
    title = "MadMPI benchmark"
    begins = re.compile(f"{_BENCH_BEGIN.pattern}|{_MADMPI_VERSION.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        version = ""
        benches: list[tuple[str, table.GivenColumns]] = []
        left_out = table.LeftOut()
        missing: list[str] = []
        name = ""  # of the bench that goes on
        for line in lines:
            begun, stated_version = _BENCH_BEGIN.match(line.text), _MADMPI_VERSION.match(line.text)
            version = version or (stated_version[1] if stated_version else "")
            words = line.text.replace("|", " ").split()
            if begun or _BENCH_END.match(line.text):
                missing += _unended_bench(name if begun else "")
                name = begun[1] if begun else ""
                benches += [(name, table.GivenColumns(name, left_out))] if begun else []
            elif name and table.is_number(words):
                try:
                    _bench_row(words, line.number, benches[-1][1])
                except table.UnreadableError:
                    left_out.add(table.BROKEN, f"line {line.number}")
        missing += _unended_bench(name)
        tables = []
        for bench, columns in benches:
            nprocs, apart = (
                ranks.of(bench, self.title) if _COLLECTIVE.search(bench.lower()) else (2, "")
            )
            tables.append(
                table.GivenTable(f"madmpi-{table.plain(bench)}", nprocs, columns.found, apart=apart)
            )
        return table.GivenOutput(version, tables, "", left_out.sentences(), missing)


def _unended_bench(name: str) -> list[str]:
    return [f"the end of bench {table.plain(name)}"] if name else []


def _bench_row(words: list[str], number: int, columns: table.GivenColumns) -> None:
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


_LOG_HEADER = re.compile(r"\s*(?:[^|,\s]+[|,])*[^|,\s]+_value[|,]")
_OLD = re.compile(
    r"\s*[^|]*\|(?:reframe )?(\d+\.\d[\w.+-]*)\|(?P<check>[^|]+)\|jobid=[^|\s]*\|"
    r"(?:num_tasks=(\d+)\|)?(?P<name>[\w.-]+)=(?P<value>[^|]*)\|(?P<rest>.*)"
)
_OLD_UNIT = re.compile(r"(?:.*\|)?\s*(?P<unit>[A-Za-zµ/]+)\s*(?:\|.*)?\Z")
_IN_A_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "usec": 1e6, "ns": 1e9}
_IN_A_SECOND |= {"seconds": 1.0, "sec": 1.0, "microseconds": 1e6, "milliseconds": 1e3}


class Reframe:
    """ReFrame: performance logs of its checks. Since version 4 a line names the columns, and each
    performance variable has its value and unit; before, each line is one variable. Variables in
    units of time become times of the check, which is all that a log says of them."""

    name = "reframe"
    title = "ReFrame"
    begins = re.compile(f"{_LOG_HEADER.pattern}|{_OLD.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        reader = _Log(ranks)
        version = ""
        for line in lines:
            old = _OLD.match(line.text)
            if _LOG_HEADER.match(line.text):
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


_FACT = re.compile(r"\s*#@(\w+)=(.*)")
_REPROMPI_HEADER = re.compile(
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
    """ReproMPI: `#@` facts, names of columns, and a line a size (its summary), a line a repetition,
    or a line a repetition and process; of repetitions the median is taken. Facts or names of
    columns after lines of numbers begin another output."""

    name = "reprompi"
    title = "ReproMPI"
    begins = re.compile(f"{_FACT.pattern}|{_REPROMPI_HEADER.pattern}")

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        left_out = table.LeftOut()
        outputs = [_Block({}, [], left_out)]
        for line in lines:
            words = line.text.split()
            fact, is_header = _FACT.match(line.text), _REPROMPI_HEADER.match(line.text)
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


_SKAMPI_VERSION = re.compile(r"\s*# *SKaMPI Version ([\w.]+(?: rev\. \d+)?)")
_RESULT_BEGIN = re.compile(r'\s*(?:# *)?begin result "([^"]{1,200})"')
_RESULT_END = re.compile(r"\s*#? *end result")
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
    """SKaMPI 5 and 6: `begin result "NAME"`, lines of parameters, the size in bytes, time, standard
    error, repetitions and a time a rank; all times in µs."""

    name = "skampi"
    title = "SKaMPI"
    begins = _RESULT_BEGIN

    def read(self, lines: Sequence[Line], ranks: table.GivenRanks) -> table.GivenOutput:
        version = ""
        results: list[tuple[str, list[_Point]]] = []
        left_out = table.LeftOut()
        missing: list[str] = []
        name: str | None = None  # of the result that goes on
        for line in lines:
            begun, stated_version = _RESULT_BEGIN.match(line.text), _SKAMPI_VERSION.match(line.text)
            version = stated_version[1] if stated_version else version
            if begun:
                missing += _unended_result(name)
                name = begun[1]
                results.append((name, []))
            elif _RESULT_END.match(line.text):
                name = None
            elif name is not None and line.text.strip() and not line.text.lstrip().startswith("#"):
                try:
                    results[-1][1].append(_point(_named(name), line))
                except table.UnreadableError:
                    left_out.add(table.BROKEN, f"line {line.number}")
        missing += _unended_result(name)
        tables = [
            given
            for result, points in results
            for given in _tables(result, points, ranks, left_out)
        ]
        return table.GivenOutput(version, tables, "", left_out.sentences(), missing)


def _named(name: str) -> str:
    match = _FUNCTION.match(name)
    return match[1] if match and match[1] in _COLLECTIVES else f"skampi-{table.plain(name)}"


def _unended_result(name: str | None) -> list[str]:
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
