"""Numbers of things, as people write them, and their limits. Pure."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return `1 launch`, `2 launches` …; the last word of `noun` changes."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith('ch') else 's'}"


def with_interval(
    value: float | None, low: float | None, high: float | None, form: str = ".2f", unit: float = 1
) -> str:
    """`0.91 [0.90, 0.93]`, times `unit`; the value alone where it has no interval, '' where there
    is none."""
    if value is None:
        return ""
    text = f"{unit * value:{form}}"
    if low is None or high is None:
        return text
    return f"{text} [{unit * low:{form}}, {unit * high:{form}}]"


def number_of_bytes(word: str) -> int:
    """`65536`, and as tables show it `64k`. Raises ValueError."""
    for power, unit in enumerate("kMG", start=1):
        if word.strip().removesuffix("iB").endswith((unit, unit.lower(), unit.upper())):
            return int(word.strip().removesuffix("iB")[:-1]) << 10 * power
    return int(word)


LARGEST = 2**63 - 1
"""What a number of the probe and of the database holds."""

MOST = 10**6
"""Launches, repetitions, µs of a wait: more is a slip of the keyboard."""
