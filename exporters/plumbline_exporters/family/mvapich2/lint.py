"""MV2_* of MVAPICH2 2.x: values by message size, and what crashes (measured on 2.3 and 2.3.7;
docs/design/libraries.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from plumbline_exporters import by_size
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.family.mvapich2 import env
from plumbline_exporters.finding import Finding, LintTarget
from plumbline_exporters.lint import names

_REDUCE_SCATTER = "MV2_INTER_RED_SCAT_TUNING"
_REDUCE = "MV2_INTER_REDUCE_TUNING"
_MPI_T = re.compile(r"MPIR_CVAR_(?P<collective>[A-Z]+)_COLLECTIVE_ALGORITHM\Z")
PATTERN = rf"MV2_|{_MPI_T.pattern}"


def findings(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    last = {assignment.name: assignment for assignment in given}
    plain = [
        assignment
        for assignment in last.values()
        if not (assignment.value and by_size.has_sizes(assignment.value))
    ]
    yield from names.check(plain, target)
    for assignment in last.values():
        if assignment.value and by_size.has_sizes(assignment.value):
            yield from _of_sizes(assignment, assignment.value, last, target)
    yield from _of_indexed(last)
    yield from _of_queue(last)
    alone = last.get(_REDUCE_SCATTER)
    if alone is not None and env.begins_with_1(alone.value or "") and _REDUCE not in last:
        yield Finding(
            alone.line, "fails", "reduce-wanted",
            f"{_REDUCE_SCATTER}=1… crashes where {_REDUCE} is not set", f"set {_REDUCE} beside it",
        )  # fmt: skip
    for assignment in last.values():
        match = _MPI_T.match(assignment.name)
        if match is None:
            continue
        other_variable = next((name for name in last if _is_of(name, match["collective"])), None)
        if other_variable is not None:
            yield Finding(
                assignment.line, "fails", "both-ways",
                f"MPI_Init fails where {assignment.name} and {other_variable} are both set",
                "leave one out",
            )  # fmt: skip


def _is_of(name: str, collective: str) -> bool:
    return bool(re.match(rf"MV2_(?:INTER_|INTRA_)?{collective}_TUNING(?:_TWO_LEVEL)?\Z", name))


def _of_sizes(
    assignment: Assignment, value: str, last: dict[str, Assignment], target: LintTarget
) -> Iterator[Finding]:
    if assignment.name not in env.SWITCHES:
        yield Finding(
            assignment.line, "misread", "no-sizes", f"{assignment.name} is not known to take sizes",
            "give one number for all sizes",
        )  # fmt: skip
        return
    try:
        parts = by_size.read(value)
    except ValueError as error:
        yield Finding(
            assignment.line, "misread", "ranges", f"{assignment.name}: {error}",
            "write ALGORITHM:0-LAST,ALGORITHM:NEXT-+ without a gap",
        )  # fmt: skip
        return
    for name, needed in env.companions(assignment.name).items():
        set_to = last.get(name)
        if set_to is None or set_to.value not in (needed, None):
            yield Finding(
                assignment.line, "fails", "indexed-mode",
                f"{assignment.name}: values by size crash in the library's indexed mode (for "
                "Bcast: do "
                f"something else), which {name} turns off", f"set {name}={needed} beside it",
            )  # fmt: skip
    for part in parts:
        if part.algorithm not in env.IN_RANGES[assignment.name]:
            yield Finding(
                assignment.line, "misread", "not-in-ranges",
                f"{assignment.name}: in ranges of sizes algorithm {part.algorithm} is taken, "
                "without a "
                "word, for another one", "take another number there, or one number for all sizes",
            )  # fmt: skip


def _of_indexed(last: dict[str, Assignment]) -> Iterator[Finding]:
    """One number for all sizes that the mode without indices does not have."""
    values = {assignment.name: assignment.value or "" for assignment in last.values()}
    for name in env.ONLY_INDEXED.keys() & last.keys():
        why = env.refused(name, values)
        if why and not by_size.has_sizes(values[name]):
            yield Finding(
                last[name].line, "misread", "only-indexed",
                f"{name}: {why}, which the switches turn off: another one is taken",
                "take another algorithm, or leave the switches out",
            )  # fmt: skip


def _of_queue(last: dict[str, Assignment]) -> Iterator[Finding]:
    eager, queue = last.get(env.EAGER), last.get(env.QUEUE)
    values = {assignment.name: assignment.value or "" for assignment in last.values()}
    if eager and queue and env.queue_is_short(values):
        yield Finding(
            queue.line, "fails", "short-queue",
            f"MPI_Init fails where {env.QUEUE} is not more than twice {env.EAGER}",
            f"raise {env.QUEUE}, or lower {env.EAGER}",
        )  # fmt: skip
