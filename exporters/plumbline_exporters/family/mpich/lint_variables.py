"""MPIR_CVAR_* of MPICH 4 and 5, and of MVAPICH 3 and 4, which is made from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_exporters.assignments import Assignment
from plumbline_exporters.family.mpich import coll, selection
from plumbline_exporters.finding import FileKind, Finding, LintTarget
from plumbline_exporters.lint import names

FALLBACK = "MPIR_CVAR_COLLECTIVE_FALLBACK"
_TABLE = FileKind(("fails", "every program ends in MPI_Init"), ("mpich-json",))
TABLES = dict.fromkeys((selection.VARIABLE, selection.COMPOSITIONS_VARIABLE), _TABLE)
_ALGORITHM = re.compile(r"MPIR_CVAR_(?P<collective>[A-Z_]+)_INTRA_ALGORITHM\Z")
# Functions in which shared memory precedes the algorithms of a variable (docs/design/libraries.md).
_SHARED = ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
_AUTOMATIC = "auto"
_OFF = ("0", "no", "false", "off")
ALIASES = ("MPICH_", "MVP_")
# Variables of MVAPICH2's MPI_T have the same prefix and are not meant.
PATTERN = rf"{coll.PREFIX}(?![A-Z]+_COLLECTIVE_ALGORITHM\Z)|{'|'.join(ALIASES)}"


def findings(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    last = {_full(assignment.name): assignment for assignment in given}
    checked = [
        msgspec.structs.replace(assignment, name=name)
        for name, assignment in last.items()
        if name == assignment.name or target.parameters(name)
    ]
    yield from names.check(checked, target)
    fallback = last.get(FALLBACK)
    if fallback is not None and fallback.value == "error":
        yield Finding(
            fallback.line, "fails", "ends-programs",
            f"{FALLBACK}=error ends programs at the first call that a choice does not fit, where "
            "the library would take another algorithm", "set it while measuring alone",
        )  # fmt: skip
    for name, assignment in last.items():
        match = _ALGORITHM.match(name)
        if match is None or assignment.value in (None, _AUTOMATIC):
            continue
        if not names.takes(name, assignment.value or "", target):
            continue  # no program gets as far
        yield from _of_algorithm(match["collective"], assignment, last, target)


def _full(name: str) -> str:
    for alias in ALIASES:
        if name.startswith(alias):
            return coll.PREFIX + name.removeprefix(alias)
    return name


def _of_algorithm(
    collective: str, assignment: Assignment, last: dict[str, Assignment], target: LintTarget
) -> Iterator[Finding]:
    table = next((name for name in TABLES if name in last), None)
    if table is not None and f"MPI_{collective.capitalize()}" in coll.COLLECTIVES:
        yield Finding(
            assignment.line, "misread", "before-the-table",
            f"{assignment.name} comes before the table that {table} names: the table's choices "
            "for this "
            "function are not looked at", "leave one of them out",
        )  # fmt: skip
    device = f"{coll.PREFIX}{collective}_DEVICE_COLLECTIVE"
    off = last.get(device)
    whole = last.get(f"{coll.PREFIX}DEVICE_COLLECTIVES")
    if target.family != "mpich" or collective not in _SHARED:
        return
    given_up = off is not None and (off.value is None or off.value.lower() in _OFF)
    if (whole is None or whole.value != "none") and not given_up:
        yield Finding(
            assignment.line, "ignored", "shared-memory-above",
            f"{assignment.name} is heard in the first calls on a communicator; then the "
            "collectives of "
            "shared memory take over on a node", f"set {device}=0 beside it",
        )  # fmt: skip
    if assignment.value == "smp" and FALLBACK in last and last[FALLBACK].value == "error":
        yield Finding(
            assignment.line, "corrupts", "hangs",
            f"{assignment.name}=smp with {FALLBACK}=error: one rank gets an error in an inner "
            "call, the "
            "others wait for ever", "leave one of them out",
        )  # fmt: skip
