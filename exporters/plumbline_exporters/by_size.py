"""Algorithms by message size in one value: `2:0-8192,5:8193-+`, as MVAPICH2 takes them."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

MOST_RANGES = 32  # the library writes past the end of its table with more
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


def write(ranges: list[Range]) -> str:
    """Raises ValueError where they do not hold every size once."""
    _check(ranges)
    return ",".join(
        f"{part.algorithm}:{part.first}-{'+' if part.last is None else part.last}"
        for part in ranges
    )


def read(text: str) -> list[Range]:
    """Raises ValueError where `text` is not what `write` makes."""
    ranges = []
    for word in text.split(","):
        match = _RANGE.match(word)
        if match is None:
            raise ValueError(f"{word!r} is not ALGORITHM:FIRST-LAST")
        last = None if match[3] == "+" else int(match[3])
        ranges.append(Range(int(match[1]), int(match[2]), last))
    _check(ranges)
    return ranges


def _check(ranges: list[Range]) -> None:
    if not ranges or ranges[0].first != 0 or ranges[-1].last is not None:
        raise ValueError("sizes go from 0 to +")
    if len(ranges) > MOST_RANGES:
        raise ValueError(f"more than {MOST_RANGES} ranges of sizes")
    for lower, upper in pairwise(ranges):
        if lower.last is None or not lower.first <= lower.last == upper.first - 1:
            raise ValueError(f"the sizes from {lower.first} and from {upper.first} do not meet")
