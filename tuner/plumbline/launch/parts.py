"""One plan as several launches: parts that share its cases out, and their records as those of one.

For a simulated machine, where a case does not feel the others. Pure: text in, text out. Cases of
the same arguments come one after the other in a part, so that the probe has the library's own
result once for all of them (docs/scale.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

Record = dict[str, Any]


def whole(plan: str) -> bool:
    """Whether the plan asks for more than cases, which only one launch can answer."""
    marks = (" plain=", " nrep=", " clock_sync=", " runtime=", "sync=window", "sync=roundtime")
    lines = plan.splitlines()
    return any(line.startswith("pingpong") for line in lines) or any(
        mark in line for mark in marks for line in lines if line.startswith("set")
    )


def case_lines(plan: str) -> dict[int, str]:
    """The cases by their id."""
    found = {}
    for line in plan.splitlines():
        if line.startswith("case "):
            first, _, rest = line.removeprefix("case id=").partition(" ")
            found[int(first)] = rest
    return found


def split(plan: str, count: int, without: Iterable[int] = ()) -> list[str]:
    """At most `count` plans that have the cases of `plan` between them, those `without` apart. A
    part has about as many of each function and size as the others."""
    left_out = set(without)
    groups: dict[tuple[str, ...], list[str]] = {}
    for number, line in case_lines(plan).items():
        if number not in left_out:
            words = dict(word.split("=", 1) for word in line.split())
            same = ("function", "bytes", "type", "op", "root", "ranks")
            key = tuple(words.get(name, "") for name in same)
            groups.setdefault(key, []).append(f"case id={number} {line}")
    head = [line for line in plan.splitlines() if not line.startswith("case ")]
    parts: list[list[str]] = [[] for _ in range(min(count, len(groups)))]
    # The largest volumes cost most: they are dealt out first, function by function.
    dealt = sorted(groups, key=lambda key: (-int(key[1]), key[0], key))
    for place, key in enumerate(dealt):
        turn, part = divmod(place, len(parts))
        parts[part if turn % 2 == 0 else len(parts) - 1 - part] += groups[key]
    return ["\n".join(head + part) + "\n" for part in parts]


def join(parts: Sequence[Sequence[Record]], known: Sequence[Record] = ()) -> list[Record]:
    """The records of one launch, out of those of parts that have the same header. `known`: case,
    check and sample records of cases that were in no part. Where a part has not come to its end,
    neither has the whole: then its records are the last ones, and there is no footer."""
    ended = [part for part in parts if part and part[-1]["record"] == "footer"]
    broken = [part for part in parts if part not in ended]
    ordered = [*ended, *broken]

    def of(*kinds: str) -> list[Record]:
        return [one for part in (known, *ordered) for one in part if one["record"] in kinds]

    first = next((part for part in ordered if part), [])
    orders: dict[int, list[int]] = {}
    for one in of("order"):
        orders.setdefault(one["block"], []).extend(one["cases"])
    for one in [one for part in broken for one in part if one["record"] == "order"][-1:]:
        orders[one["block"]] = orders.pop(one["block"])  # with the case that was under way
    joined = [one for one in first if one["record"] in ("header", "config")]
    joined += sorted(of("case"), key=lambda one: int(one["case"]))
    joined += of("begin", "check")
    joined += [{"record": "order", "block": block, "cases": of_} for block, of_ in orders.items()]
    joined += of("samples", "refused")
    if broken:
        return joined
    footers = of("footer")
    joined += [one for one in first if one["record"] == "load"]
    joined.append(
        footers[0]
        | {
            "cases": sum(one["record"] == "case" for one in joined),
            "timed_ns": sum(one["timed_ns"] for one in footers),
            "wall_ns": max(one["wall_ns"] for one in footers),
        }
    )
    return joined


def read(text: str) -> list[Record]:
    """Whole lines; what a launch that was ended has begun to write is left out."""
    lines = text.splitlines(keepends=True)
    return [msgspec.json.decode(line) for line in lines if line.endswith("\n")]


def write(records: Iterable[Record]) -> str:
    return "".join(msgspec.json.encode(one).decode() + "\n" for one in records)
