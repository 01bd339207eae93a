"""I_MPI_ADJUST_* and what stands beside it. How Intel MPI reads a value was measured
(docs/design/libraries.md; tests/exporters/test_impi_ranges.py)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_exporters.assignments import Assignment
from plumbline_exporters.family.intelmpi import env
from plumbline_exporters.finding import FileKind, Finding, LintTarget
from plumbline_exporters.lint import names

_ENTRY = re.compile(
    r"(?P<preset>-?[0-9]{1,18})(?::(?P<low>[0-9]{1,18})(?:-(?P<high>[0-9]{1,18}))?"
    r"(?:@(?P<least>[0-9]{1,18})(?:-(?P<most>[0-9]{1,18}))?)?)?\Z"
)
TUNING_FILE = "I_MPI_TUNING_BIN"
TUNING = FileKind(("ignored", "the library takes its own tuning file, and says so under debug"), ())
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
        return env.LAST if self.high is None else self.high


def read(value: str) -> list[AdjustEntry] | None:
    """The entries of a value; None where one of them is none, and the library drops all."""
    entries = []
    for word in value.split(";"):
        match = _ENTRY.match(word.strip())
        if match is None:
            return None
        low = int(match["low"] or 0)
        high = match["high"] or (match["low"] if match["low"] else None)
        ranks = "" if match["least"] is None else f"{match['least']}-{match['most'] or ''}"
        entries.append(
            AdjustEntry(match["preset"], low, None if high is None else int(high), ranks)
        )
    return entries


def findings(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    last = {assignment.name: assignment for assignment in given}
    functions = {env.knob(function): function for function in env.FUNCTIONS}
    yield from names.check(
        [assignment for assignment in last.values() if assignment.name not in functions], target
    )
    for name, function in functions.items():
        assignment_found = last.get(name)
        if assignment_found is not None and assignment_found.value is not None:
            yield from _of_value(function, assignment_found, assignment_found.value, target)
    for name in (_ON_MATCH, _ON_COLLECTIVE):
        assignment_found = last.get(name)
        if assignment_found is not None and (assignment_found.value or "").lower() not in _OFF:
            when = (
                "every launch with a collective"
                if name == _ON_MATCH
                else ("programs in which a call falls back, which the library's own choices do too")
            )
            yield Finding(
                assignment_found.line, "fails", "ends-programs", f"{name} ends {when}",
                "set it for a test of presets alone",
            )  # fmt: skip


def _of_value(
    function: str, assignment: Assignment, value: str, target: LintTarget
) -> Iterator[Finding]:
    entries = read(value)
    number = re.match(r"[0-9]{1,9}(?=[^0-9])", value.strip())
    if entries is None and number is not None and ";" not in value:
        yield Finding(
            assignment.line, "misread", "text-behind-preset",
            f"{assignment.name}: of {value!r} the number in front is taken, for all sizes, and the "
            "rest is passed over", "write PRESET, or for instance 2:0-4096;1:4097-2147483647",
        )  # fmt: skip
        entries = [AdjustEntry(number[0], 0, None, "")]
    if entries is None:
        yield Finding(
            assignment.line, "ignored", "not-a-preset",
            f"{assignment.name}: {value!r} is not PRESET:FROM-TO@RANKS; …: the whole variable is "
            "dropped, "
            "with a line on standard output", "write for instance 2:0-4096;1:4097-2147483647",
        )  # fmt: skip
        return
    for entry in entries:
        parameters = [version.parameters.get(assignment.name) for version in target.known]
        if any(
            parameter is not None and not parameter.takes(entry.preset) for parameter in parameters
        ):
            preset_known = next(parameter for parameter in parameters if parameter is not None)
            yield Finding(
                assignment.line, "ignored", "no-such-preset",
                f"{assignment.name}: there is no preset {entry.preset}: the whole variable is "
                "dropped, "
                "with a line on standard output", f"take {preset_known.choices}",
            )  # fmt: skip
    unsafe = env.not_commutative(function)
    for preset in sorted({entry.preset for entry in entries} & unsafe):
        yield Finding(
            assignment.line, "corrupts", "not-commutative",
            f"{assignment.name}: preset {preset} gives wrong results, without an error, for "
            "operations "
            "that do not commute", "take another preset",
        )  # fmt: skip
    yield from _of_ranges(function, assignment, entries)


def _of_ranges(
    function: str, assignment: Assignment, entries: list[AdjustEntry]
) -> Iterator[Finding]:
    bounds = {(entry.low, entry.high) for entry in entries}
    sized = len(bounds) > 1 or any(entry.low or (entry.high is not None and
                                   entry.end < env.LAST) for entry in entries)  # fmt: skip
    if any(entry.ranks for entry in entries):
        if len(bounds) > 1:
            yield Finding(
                assignment.line, "misread", "sizes-and-ranks",
                f"{assignment.name}: of entries with the same @ranks the last one holds for all "
                "sizes",
                "give each @ranks one entry for all sizes (0-2147483647), or leave @ranks out",
            )  # fmt: skip
        return
    if not sized:
        return
    if function not in env.WITH_SIZES and len({entry.preset for entry in entries}) > 1:
        yield Finding(
            assignment.line, "misread", "no-size",
            f"{assignment.name}: Intel MPI knows no size of such a call: the last range holds for "
            "all",
            "give one preset, for all sizes",
        )  # fmt: skip
        return
    ends = [entry.end for entry in entries]
    if ends != sorted(set(ends)):
        yield Finding(
            assignment.line, "misread", "sizes-not-ascending",
            f"{assignment.name}: a call goes with the first entry whose upper end is not below "
            "its size, "
            "and these are not in order", "put the ranges in ascending order",
        )  # fmt: skip
        return
    following = 0
    for entry in entries:
        if entry.low > following:
            yield Finding(
                assignment.line, "reaches", "gap-below",
                f"{assignment.name}: only upper ends count: preset {entry.preset} holds from "
                f"{following} "
                f"bytes on, not from {entry.low}",
                f"put {env.OWN_DECISION}:{following}-{entry.low - 1} in front of it",
            )  # fmt: skip
        following = entry.end + 1
    if ends[-1] < env.LAST:
        yield Finding(
            assignment.line, "reaches", "open-above",
            f"{assignment.name}: preset {entries[-1].preset} holds above {ends[-1]} bytes too: "
            "what lies "
            "above the last range goes with it",
            f"put {env.OWN_DECISION}:{following}-{env.LAST} behind it",
        )  # fmt: skip
