"""ReproMPI: `#@` facts, names of columns, and a line a size (its summary) or a line a repetition,
whose median is taken."""

from __future__ import annotations

import re
import statistics

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

_FACT = re.compile(r"#@(\w+)=(.*)")
_SIZE = ("msize", "count")
_TIME = re.compile(r"(mean|median|min|max|runtime)(?:_sec)?\Z|runtime_sec\Z")


class Reprompi:
    name = "reprompi"
    title = "ReproMPI"

    def recognises(self, text: str) -> bool:
        return re.search(r"^#@(?:reproMPI|nrep|clocktype|sync)", text, re.MULTILINE) is not None

    def read(self, text: str, nprocs: int | None) -> GivenOutput:
        facts: dict[str, str] = {}
        names: list[str] = []
        summaries: dict[str, GivenColumns] = {}
        repetitions: dict[tuple[str, int], list[float]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            fact = _FACT.match(line)
            if fact:
                facts.setdefault(fact[1], fact[2].strip())
            elif not words or line.startswith("#"):
                continue
            elif words[0] == "test":
                names = words
            elif names:
                if len(words) != len(names):
                    raise UnreadableError(number, f"expected {len(names)} values")
                given = dict(zip(names, words, strict=True))
                nprocs_text = facts.get("nprocs")
                count = ranks(nprocs_text, number) if nprocs_text else needed(nprocs, self.title)
                _line(given, number, count, facts, summaries, repetitions)
        for (function, size), times in repetitions.items():
            row = GivenTime(size, statistics.median(times), len(times))
            summaries.setdefault(function, GivenColumns()).add("median", row, 0)
        count = ranks(facts["nprocs"], 0) if "nprocs" in facts else nprocs or 1
        tables = [
            GivenTable(
                function,
                count,
                columns.found,
                facts.get("datatype", ""),
                facts.get("operation", ""),
            )
            for function, columns in summaries.items()
            if columns.found
        ]
        return GivenOutput(facts.get("reproMPIcommitSHA1", "")[:12], tables)


def _line(
    given: dict[str, str],
    number: int,
    nprocs: int,
    facts: dict[str, str],
    summaries: dict[str, GivenColumns],
    repetitions: dict[tuple[str, int], list[float]],
) -> None:
    test = plain(given["test"])
    function = test if test.startswith("MPI_") else f"reprompi-{test}"
    size = next((given[name] for name in _SIZE if name in given), None)
    if size is None:
        raise UnreadableError(number, "count and msize are missing")
    extent = whole(facts.get("datatype_extent_bytes", "1"), number, 4096)
    bytes = volume(function, whole(size, number, 2**40) * extent, nprocs)
    n = max(1, whole(given.get("valid_nrep", given.get("total_nrep", "1")), number))
    for name, value in given.items():
        if not _TIME.match(name):
            continue
        time = seconds(value, 1.0, number)
        if name.startswith("runtime"):
            if time > 0:
                repetitions.setdefault((function, bytes), []).append(time)
        else:
            column = name.removesuffix("_sec")
            summaries.setdefault(function, GivenColumns()).add(
                column, GivenTime(bytes, time, n), number
            )
