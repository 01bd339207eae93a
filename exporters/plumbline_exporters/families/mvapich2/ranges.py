"""Algorithms by message size as MVAPICH2 takes them: `2:0-8192,5:8193-+`.

In the default, indexed mode such a value crashes the library, or (bcast) does something else: two
switches must turn that mode off, which they do for one function alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

import msgspec

INDEXED = "MV2_USE_INDEXED_TUNING"
# Variables that take sizes, with what must be 0 beside INDEXED; none where it works as it is.
SWITCHES: dict[str, str] = {
    "MV2_ALLTOALL_TUNING": "MV2_USE_INDEXED_ALLTOALL_TUNING",
    "MV2_INTER_ALLGATHER_TUNING": "MV2_USE_INDEXED_ALLGATHER_TUNING",
    "MV2_INTER_ALLREDUCE_TUNING": "MV2_USE_INDEXED_ALLREDUCE_TUNING",
    "MV2_INTER_BCAST_TUNING": "MV2_USE_INDEXED_BCAST_TUNING",
    "MV2_INTER_REDUCE_TUNING": "MV2_USE_INDEXED_REDUCE_TUNING",
    "MV2_INTER_RED_SCAT_TUNING": "",
    "MV2_INTER_SCATTER_TUNING": "MV2_USE_INDEXED_SCATTER_TUNING",
}
# Algorithms that may stand in ranges. The library takes another one for any other number (for
# Reduce 8: 2), or leaves the range without one, and says nothing.
IN_RANGES: dict[str, frozenset[int]] = {
    "MV2_ALLTOALL_TUNING": frozenset(range(4)),
    "MV2_INTER_ALLGATHER_TUNING": frozenset(range(1, 5)),
    "MV2_INTER_ALLREDUCE_TUNING": frozenset({1, 2, 8, 9, 11}),
    "MV2_INTER_BCAST_TUNING": frozenset(range(1, 11)),
    "MV2_INTER_REDUCE_TUNING": frozenset({1, 2, 5}),
    "MV2_INTER_RED_SCAT_TUNING": frozenset(range(1, 6)),
    "MV2_INTER_SCATTER_TUNING": frozenset(range(1, 5)),
}
# Algorithms that one number for all sizes means in the indexed mode alone.
ONLY_INDEXED: dict[str, frozenset[int]] = {"MV2_INTER_ALLREDUCE_TUNING": frozenset({8, 9, 11})}
MOST_RANGES = 32  # the library writes past the end of its table with more
EAGER, QUEUE = "MV2_SMP_EAGERSIZE", "MV2_SMP_QUEUE_LENGTH"
_BYTES = re.compile(r"([0-9]{1,12})([kKmMgG]?)\Z")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_RANGE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})-([0-9]{1,18}|\+)\Z")


class Range(msgspec.Struct, frozen=True):
    """`algorithm` from `first` to `last` bytes (None: and more)."""

    algorithm: int
    first: int
    last: int | None


def has_sizes(value: str) -> bool:
    return ":" in value


def algorithms(value: str) -> list[str]:
    """The numbers in a value: of each range, or the one for all sizes."""
    if not has_sizes(value):
        return [value]
    return list(dict.fromkeys(str(part.algorithm) for part in read(value)))


def companions(name: str) -> dict[str, str]:
    """What must be set where the variable `name` has sizes."""
    switch = SWITCHES[name]
    return {INDEXED: "0", switch: "0"} if switch else {}


def refused(name: str, values: Mapping[str, str]) -> str:
    """Why the variable `name`, beside the others of `values`, would not be obeyed; '': it is."""
    value = values[name]
    if not has_sizes(value):
        off = all(values.get(switch) == "0" for switch in (INDEXED, SWITCHES.get(name, "")))
        lost = off and value.isdecimal() and int(value) in ONLY_INDEXED.get(name, ())
        return f"algorithm {value} for all sizes is there in the indexed mode alone" * lost
    if name not in SWITCHES:
        return "the library takes no sizes here; give one value"
    try:
        ranges = read(value)
    except ValueError as error:
        return str(error)
    unknown = sorted({part.algorithm for part in ranges} - IN_RANGES[name])
    return f"algorithm {unknown[0]} is not there in ranges of sizes" if unknown else ""


def begins_with_1(value: str) -> bool:
    """Of Reduce_scatter: the library reads the number before the first sign that is no digit."""
    return bool(re.match(r"\s*0*1(?![0-9])", value))


def queue_is_short(values: Mapping[str, str]) -> bool:
    """Whether an eager message and its end are known to fill more than half of the queue, with
    which MPI_Init fails."""
    found = [_BYTES.match(values.get(name, "")) for name in (EAGER, QUEUE)]
    eager, queue = (int(match[1]) * _UNITS[match[2].lower()] if match else None for match in found)
    return eager is not None and queue is not None and eager + 1 > queue // 2


def write(ranges: list[Range]) -> str:
    """Raises ValueError where they do not hold every size once."""
    _check(ranges)
    return ",".join(
        f"{part.algorithm}:{part.first}-{'+' if part.last is None else part.last}"
        for part in ranges
    )


def read(text: str) -> list[Range]:
    """Raises ValueError where `text` is not what `write` makes."""
    found = []
    for word in text.split(","):
        match = _RANGE.match(word)
        if match is None:
            raise ValueError(f"{word!r} is not ALGORITHM:FIRST-LAST")
        last = None if match[3] == "+" else int(match[3])
        found.append(Range(int(match[1]), int(match[2]), last))
    _check(found)
    return found


def _check(ranges: list[Range]) -> None:
    if not ranges or ranges[0].first != 0 or ranges[-1].last is not None:
        raise ValueError("sizes go from 0 to +")
    if len(ranges) > MOST_RANGES:
        raise ValueError(f"more than {MOST_RANGES} ranges of sizes")
    for left, right in pairwise(ranges):
        if left.last is None or not left.first <= left.last == right.first - 1:
            raise ValueError(f"the sizes from {left.first} and from {right.first} do not meet")
