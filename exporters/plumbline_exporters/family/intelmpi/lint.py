"""I_MPI_ADJUST_* and what stands beside it. How Intel MPI reads a value was measured
(docs/design/libraries.md; tests/exporters/test_impi_ranges.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_exporters.assignments import Assignment
from plumbline_exporters.family.intelmpi import ranges
from plumbline_exporters.finding import Finding, LintTarget
from plumbline_exporters.lint import names

_ENTRY = re.compile(
    r"(?P<preset>-?[0-9]{1,18})(?::(?P<low>[0-9]{1,18})(?:-(?P<high>[0-9]{1,18}))?"
    r"(?:@(?P<least>[0-9]{1,18})(?:-(?P<most>[0-9]{1,18}))?)?)?\Z"
)
_ON_MATCH = "I_MPI_ADJUST_FAILURE_ON_MATCH_FALLBACK"
_ON_COLLECTIVE = "I_MPI_ADJUST_FAILURE_ON_COLL_FALLBACK"
_OFF = frozenset({"0", "off", "no", "disable"})


class AdjustEntry(msgspec.Struct, frozen=True):
    """`ranks` is empty where the entry holds for any number of them."""

    preset: str
    low: int
    high: int | None
    ranks: str

    @property
    def end(self) -> int:
        return ranges.LAST if self.high is None else self.high


def read(value: str) -> list[AdjustEntry] | None:
    """The entries of a value; None where one of them is none, and the library drops all."""
    found = []
    for word in value.split(";"):
        match = _ENTRY.match(word.strip())
        if match is None:
            return None
        low = int(match["low"] or 0)
        high = match["high"] or (match["low"] if match["low"] else None)
        ranks = "" if match["least"] is None else f"{match['least']}-{match['most'] or ''}"
        found.append(AdjustEntry(match["preset"], low, None if high is None else int(high), ranks))
    return found


def findings(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    last = {assignment.name: assignment for assignment in given}
    functions = {ranges.knob(function): function for function in ranges.FUNCTIONS}
    yield from names.check(
        [assignment for assignment in last.values() if assignment.name not in functions], target
    )
    for name, function in functions.items():
        one = last.get(name)
        if one is not None and one.value is not None:
            yield from _of_value(function, one, one.value, target)
    for name in (_ON_MATCH, _ON_COLLECTIVE):
        one = last.get(name)
        if one is not None and (one.value or "").lower() not in _OFF:
            when = (
                "every launch with a collective"
                if name == _ON_MATCH
                else ("programs in which a call falls back, which the library's own choices do too")
            )
            yield Finding(
                one.line, "fails", "ends-programs", f"{name} ends {when}",
                "set it for a test of presets alone",
            )  # fmt: skip


def _of_value(function: str, one: Assignment, value: str, target: LintTarget) -> Iterator[Finding]:
    entries = read(value)
    if entries is None:
        yield Finding(
            one.line, "ignored", "not-a-preset",
            f"{one.name}: {value!r} is not PRESET:FROM-TO@RANKS; …: the whole variable is dropped, "
            "with a line on standard output", "write for instance 2:0-4096;1:4097-2147483647",
        )  # fmt: skip
        return
    for entry in entries:
        parameters = [known.parameters.get(one.name) for known in target.known]
        if any(each is not None and not each.takes(entry.preset) for each in parameters):
            there = next(each for each in parameters if each is not None)
            yield Finding(
                one.line, "ignored", "no-such-preset",
                f"{one.name}: there is no preset {entry.preset}: the whole variable is dropped, "
                "with a line on standard output", f"take {there.choices()}",
            )  # fmt: skip
    unsafe = ranges.not_commutative(function)
    for preset in sorted({entry.preset for entry in entries} & unsafe):
        yield Finding(
            one.line, "corrupts", "not-commutative",
            f"{one.name}: preset {preset} gives wrong results, without an error, for operations "
            "that do not commute", "take another preset",
        )  # fmt: skip
    yield from _of_ranges(function, one, entries)


def _of_ranges(function: str, one: Assignment, entries: list[AdjustEntry]) -> Iterator[Finding]:
    bounds = {(entry.low, entry.high) for entry in entries}
    sized = len(bounds) > 1 or any(entry.low or (entry.high is not None and
                                   entry.end < ranges.LAST) for entry in entries)  # fmt: skip
    if any(entry.ranks for entry in entries):
        if len(bounds) > 1:
            yield Finding(
                one.line, "misread", "sizes-and-ranks",
                f"{one.name}: of entries with the same @ranks the last one holds for all sizes",
                "give each @ranks one entry for all sizes (0-2147483647), or leave @ranks out",
            )  # fmt: skip
        return
    if not sized:
        return
    if function not in ranges.WITH_SIZES and len({entry.preset for entry in entries}) > 1:
        yield Finding(
            one.line, "misread", "no-size",
            f"{one.name}: Intel MPI knows no size of such a call: the last range holds for all",
            "give one preset, for all sizes",
        )  # fmt: skip
        return
    ends = [entry.end for entry in entries]
    if ends != sorted(set(ends)):
        yield Finding(
            one.line, "misread", "sizes-not-ascending",
            f"{one.name}: a call goes with the first entry whose upper end is not below its size, "
            "and these are not in order", "put the ranges in ascending order",
        )  # fmt: skip
        return
    following = 0
    for entry in entries:
        if entry.low > following:
            yield Finding(
                one.line, "reaches", "gap-below",
                f"{one.name}: only upper ends count: preset {entry.preset} holds from {following} "
                f"bytes on, not from {entry.low}",
                f"put {ranges.OWN_DECISION}:{following}-{entry.low - 1} in front of it",
            )  # fmt: skip
        following = entry.end + 1
    if ends[-1] < ranges.LAST:
        yield Finding(
            one.line, "reaches", "open-above",
            f"{one.name}: preset {entries[-1].preset} holds above {ends[-1]} bytes too: what lies "
            "above the last range goes with it",
            f"put {ranges.OWN_DECISION}:{following}-{ranges.LAST} behind it",
        )  # fmt: skip
