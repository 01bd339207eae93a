"""One plan as several launches: a part for each function, and their records as those of one.

For a simulated machine, where a case does not feel the others. Pure: text in, text out. Cases of
the same arguments come one after the other in a part, so that the probe has the library's own
result once for all of them (docs/simulated.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec

Record = dict[str, Any]


def whole(plan: str) -> bool:
    """Return whether the plan asks for more than cases, which only one launch can answer."""
    marks = (" plain=", " nrep=", " runtime=global", " sync=window", " sync=roundtime")
    lines = plan.splitlines()
    return any(line.startswith("pingpong") for line in lines) or any(
        mark in line for mark in marks for line in lines if line.startswith("set")
    )


def case_lines(plan: str) -> dict[int, str]:
    """The cases by their id."""
    line_by_case = {}
    for line in plan.splitlines():
        if line.startswith("case "):
            first, _, rest = line.removeprefix("case id=").partition(" ")
            line_by_case[int(first)] = rest
    return line_by_case


def split(plan: str, without: Iterable[int] = ()) -> list[str]:
    """A plan for each function that has cases left, those `without` apart, or two, with every other
    size, for one that has many; the longest first. Sizes rise, and the library's own call precedes
    what is compared with it: what is too much for the simulator is found where it is smallest."""
    left_out = set(without)
    functions: dict[str, list[tuple[int, int, str]]] = {}
    for number, line in case_lines(plan).items():
        if number not in left_out:
            case = words_of(line)
            place = (int(case["bytes"]), int(case["variant"] != "default"))
            functions.setdefault(case["function"], []).append((*place, f"case id={number} {line}"))
    head = [line for line in plan.splitlines() if not line.startswith("case ")]
    shares = [share for cases in functions.values() for share in _shares(cases)]
    longest = sorted(shares, key=len, reverse=True)
    return [
        "\n".join(head + [line for _, _, line in sorted(cases, key=lambda case: case[:2])]) + "\n"
        for cases in longest
    ]


def rest(plan: str, without: Iterable[int]) -> str:
    """The same plan without some of its cases; empty where none is left."""
    marks = tuple(f"case id={number} " for number in without)
    lines = [line for line in plan.splitlines() if not line.startswith(marks)]
    return "\n".join(lines) + "\n" if any(line.startswith("case ") for line in lines) else ""


_MANY = 16  # cases of a function that are worth a second start


def _shares(cases: list[tuple[int, int, str]]) -> list[list[tuple[int, int, str]]]:
    if len(cases) < _MANY:
        return [cases]
    place = {size: number for number, size in enumerate(sorted({case[0] for case in cases}))}
    shares = [[case for case in cases if place[case[0]] % 2 == share] for share in (0, 1)]
    return [share for share in shares if share]


def words_of(line: str) -> dict[str, str]:
    """The keys of a line."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def too_much(plan: str, number: int) -> set[int]:
    """The cases of a plan that are given up with the case `number`: those of its variant from its
    size on, and, if it is the library's own call, all of its function from its size on, for they
    are compared with it."""
    cases = {id: words_of(line) for id, line in case_lines(plan).items()}
    stuck = cases[number]
    alone = stuck["variant"] not in ("default", "library")
    return {
        id
        for id, case in cases.items()
        if case["function"] == stuck["function"]
        and int(case["bytes"]) >= int(stuck["bytes"])
        and not (alone and case["variant"] != stuck["variant"])
    }


def under_way(records: Iterable[Record]) -> int | None:
    """The case that a probe was checking or timing when its records end; None where that cannot be
    told."""
    begun: int | None = None
    timed: int | None = None
    for record in records:
        if record["record"] == "begin":
            begun = record["case"]
        elif record["record"] == "check":
            begun = None
        elif record["record"] == "under_way":
            timed = record["case"]
    return timed if begun is None else begun


def given_up(records: Sequence[Record], numbers: Iterable[int], reason: str) -> list[Record]:
    """The records of cases that are not simulated, out of those of a launch that knew them."""
    case_numbers = set(numbers)
    case_records = [
        record
        for record in records
        if record["record"] == "case" and record["case"] in case_numbers
    ]
    heading = [record for record in records if record["record"] in ("header", "config")]
    return heading + [
        made
        for record in case_records
        for made in (
            record,
            {"record": "begin", "case": record["case"]},
            {
                "record": "check",
                "case": record["case"],
                "outcome": "unsupported",
                "detail": reason,
            },
        )
    ]


def join(
    ended: Sequence[Sequence[Record]],
    broken: Sequence[Sequence[Record]] = (),
    known_records: Sequence[Record] = (),
) -> list[Record]:
    """Join the records of parts with the same header to those of one launch. `known_records` are
    case, check and sample records of cases that were in no part. If parts are `broken`, so is the
    whole: it has no footer, and the case under way is that of the last part."""
    ordered = [*ended, *broken]

    def of(*kinds: str) -> list[Record]:
        return [
            record
            for part in (known_records, *ordered)
            for record in part
            if record["record"] in kinds
        ]

    first = next((part for part in ordered if part), [])
    samples = {record["case"]: record for record in of("samples")}
    orders: dict[int, list[int]] = {}
    for part in (known_records, *ordered):
        for record in [record for record in part if record["record"] == "order"]:
            done = [case for case in record["cases"] if case in samples]
            # Of the last part with the case that was under way.
            cases = record["cases"] if part is ordered[-1] else done
            orders.setdefault(record["block"], []).extend(cases)
    joined = [record for record in first if record["record"] in ("header", "config")]
    joined += sorted(of("case"), key=lambda record: int(record["case"]))
    joined += of("begin", "check")
    for block in sorted(orders):
        joined.append({"record": "order", "block": block, "cases": orders[block]})
    joined += [samples[case] for case in dict.fromkeys(chain(*orders.values())) if case in samples]
    joined += of("refused") + of("under_way")[-1:]
    if broken:
        return joined
    footers = of("footer")
    joined += of("load")[:1]
    joined.append(
        {
            "record": "footer",
            "cases": sum(record["record"] == "case" for record in joined),
            "timed_ns": sum(footer["timed_ns"] for footer in footers) + _timed_ns(known_records),
            "wall_ns": max((footer["wall_ns"] for footer in footers), default=0),
            # Of the part that took longest: parts run side by side.
            **{
                name: max(footers, key=_wall_ns)[name] if footers else 0
                for name in ("start_ns", "checks_ns", "warmup_ns")
            },
        }
    )
    return joined


def _wall_ns(footer: Record) -> int:
    return int(footer["wall_ns"])


def _timed_ns(known_records: Sequence[Record]) -> int:
    """Return the time of cases that were in no part. What there is of a stream is one value, its
    mean."""
    reps = {
        record["case"]: record["reps"] for record in known_records if record["record"] == "case"
    }
    return sum(
        sum(record["warmup_ns"])
        + sum(record["ns"]) * reps[record["case"]] // max(1, len(record["ns"]))
        for record in known_records
        if record["record"] == "samples"
    )


def write(records: Iterable[Record]) -> str:
    return "".join(msgspec.json.encode(record).decode() + "\n" for record in records)
