"""Algorithms by message size as MVAPICH2 takes them: `2:0-8192,5:8193-+`.

In the default, indexed mode such a value crashes the library, or (bcast) does something else: two
switches must turn that mode off."""

from __future__ import annotations

import re
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
# Of them, those that compare the volume of a call; of the others it is not known what they compare.
BY_VOLUME = frozenset(
    {
        "MV2_INTER_ALLREDUCE_TUNING",
        "MV2_INTER_BCAST_TUNING",
        "MV2_INTER_REDUCE_TUNING",
        "MV2_INTER_RED_SCAT_TUNING",
    }
)
# Algorithms that only the indexed mode knows.
ONLY_INDEXED: dict[str, frozenset[int]] = {"MV2_INTER_ALLREDUCE_TUNING": frozenset({8, 9, 11})}
_RANGE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})-([0-9]{1,18}|\+)\Z")


class Range(msgspec.Struct, frozen=True):
    """`algorithm` from `first` to `last` bytes (None: and more)."""

    algorithm: int
    first: int
    last: int | None


def has_sizes(value: str) -> bool:
    return ":" in value


def companions(name: str) -> dict[str, str]:
    """What must be set where the variable `name` has sizes."""
    switch = SWITCHES[name]
    return {INDEXED: "0", switch: "0"} if switch else {}


def write(ranges: list[Range]) -> str:
    """Raises ValueError where they do not hold every size once."""
    _check(ranges)
    return ",".join(
        f"{one.algorithm}:{one.first}-{'+' if one.last is None else one.last}" for one in ranges
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
    for left, right in pairwise(ranges):
        if left.last is None or not left.first <= left.last == right.first - 1:
            raise ValueError(f"the sizes from {left.first} and from {right.first} do not meet")
