"""MVAPICH2 2.x, and POSIX shell files for it and for MVAPICH: variables that hold for every call of
a process, by size where the library can be told so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters import by_size, plumbline_sh
from plumbline_exporters.bundle import Bundle, groups, is_profile, put, sizes
from plumbline_exporters.families import Family, Linting, Question
from plumbline_exporters.family import hydra
from plumbline_exporters.finding import Assignment, Finding, LintTarget
from plumbline_exporters.lint import parameters
from plumbline_exporters.registry import exporter

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
    yield from parameters.check(plain, target)
    for assignment in last.values():
        if assignment.value and by_size.has_sizes(assignment.value):
            yield from _of_sizes(assignment, assignment.value, last, target)
    yield from _of_indexed(last)
    yield from _of_queue(last)
    alone = last.get(_REDUCE_SCATTER)
    if alone is not None and begins_with_1(alone.value or "") and _REDUCE not in last:
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
    if assignment.name not in SWITCHES:
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
    for name, needed in companions(assignment.name).items():
        set_to = last.get(name)
        if set_to is None or set_to.value not in (needed, None):
            yield Finding(
                assignment.line, "fails", "indexed-mode",
                f"{assignment.name}: values by size crash in the library's indexed mode (for "
                "Bcast: do "
                f"something else), which {name} turns off", f"set {name}={needed} beside it",
            )  # fmt: skip
    for part in parts:
        if part.algorithm not in IN_RANGES[assignment.name]:
            yield Finding(
                assignment.line, "misread", "not-in-ranges",
                f"{assignment.name}: in ranges of sizes algorithm {part.algorithm} is taken, "
                "without a "
                "word, for another one", "take another number there, or one number for all sizes",
            )  # fmt: skip


def _of_indexed(last: dict[str, Assignment]) -> Iterator[Finding]:
    """One number for all sizes that the mode without indices does not have."""
    values = {assignment.name: assignment.value or "" for assignment in last.values()}
    for name in ONLY_INDEXED.keys() & last.keys():
        why = refused(name, values)
        if why and not by_size.has_sizes(values[name]):
            yield Finding(
                last[name].line, "misread", "only-indexed",
                f"{name}: {why}, which the switches turn off: another one is taken",
                "take another algorithm, or leave the switches out",
            )  # fmt: skip


def _of_queue(last: dict[str, Assignment]) -> Iterator[Finding]:
    eager, queue = last.get(EAGER), last.get(QUEUE)
    values = {assignment.name: assignment.value or "" for assignment in last.values()}
    if eager and queue and queue_is_short(values):
        yield Finding(
            queue.line, "fails", "short-queue",
            f"MPI_Init fails where {QUEUE} is not more than twice {EAGER}",
            f"raise {QUEUE}, or lower {EAGER}",
        )  # fmt: skip


# Algorithms by message size (by_size.py) as MVAPICH2 takes them.
# In the default, indexed mode such a value crashes the library, or (bcast) does something else: two
# switches must turn that mode off, which they do for one function alone.

_INDEXED = "MV2_USE_INDEXED_TUNING"
# Variables that take sizes, with the variables that must be 0 beside INDEXED (possibly none).
SWITCHES: dict[str, str] = {
    "MV2_ALLTOALL_TUNING": "MV2_USE_INDEXED_ALLTOALL_TUNING",
    "MV2_INTER_ALLGATHER_TUNING": "MV2_USE_INDEXED_ALLGATHER_TUNING",
    "MV2_INTER_ALLREDUCE_TUNING": "MV2_USE_INDEXED_ALLREDUCE_TUNING",
    "MV2_INTER_BCAST_TUNING": "MV2_USE_INDEXED_BCAST_TUNING",
    "MV2_INTER_REDUCE_TUNING": "MV2_USE_INDEXED_REDUCE_TUNING",
    "MV2_INTER_RED_SCAT_TUNING": "",
    "MV2_INTER_SCATTER_TUNING": "MV2_USE_INDEXED_SCATTER_TUNING",
}
# Algorithms that are allowed in ranges. For any other number the library silently takes another one
# (for Reduce 8: 2), or none.
IN_RANGES: dict[str, frozenset[int]] = {
    "MV2_ALLTOALL_TUNING": frozenset(range(4)),
    "MV2_INTER_ALLGATHER_TUNING": frozenset(range(1, 5)),
    "MV2_INTER_ALLREDUCE_TUNING": frozenset({1, 2, 8, 9, 11}),
    "MV2_INTER_BCAST_TUNING": frozenset(range(1, 11)),
    "MV2_INTER_REDUCE_TUNING": frozenset({1, 2, 5}),
    "MV2_INTER_RED_SCAT_TUNING": frozenset(range(1, 6)),
    "MV2_INTER_SCATTER_TUNING": frozenset(range(1, 5)),
}
# Algorithms that a single number for all sizes selects only in the indexed mode.
ONLY_INDEXED: dict[str, frozenset[int]] = {"MV2_INTER_ALLREDUCE_TUNING": frozenset({8, 9, 11})}
EAGER, QUEUE = "MV2_SMP_EAGERSIZE", "MV2_SMP_QUEUE_LENGTH"
_BYTES = re.compile(r"([0-9]{1,12})([kKmMgG]?)\Z")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def companions(name: str) -> dict[str, str]:
    """Return what must be set where the variable `name` has sizes."""
    switch = SWITCHES[name]
    return {_INDEXED: "0", switch: "0"} if switch else {}


def refused(name: str, values: Mapping[str, str]) -> str:
    """Return why the variable `name`, beside the others of `values`, would not be obeyed; '': it
    is."""
    value = values[name]
    if not by_size.has_sizes(value):
        off = all(values.get(switch) == "0" for switch in (_INDEXED, SWITCHES.get(name, "")))
        lost = off and value.isdecimal() and int(value) in ONLY_INDEXED.get(name, ())
        return f"algorithm {value} for all sizes exists only in the indexed mode" * lost
    if name not in SWITCHES:
        return "the library takes no sizes here; give one value"
    try:
        ranges = by_size.read(value)
    except ValueError as error:
        return str(error)
    unknown = sorted({part.algorithm for part in ranges} - IN_RANGES[name])
    return f"algorithm {unknown[0]} does not exist in ranges of sizes" if unknown else ""


def begins_with_1(value: str) -> bool:
    """Return that of Reduce_scatter: the library reads the number before the first sign that is no
    digit."""
    return bool(re.match(r"\s*0*1(?![0-9])", value))


def queue_is_short(values: Mapping[str, str]) -> bool:
    """Return whether an eager message and its end are known to fill more than half of the queue,
    with which MPI_Init fails."""
    matches = [_BYTES.match(values.get(name, "")) for name in (EAGER, QUEUE)]
    eager, queue = (
        int(match[1]) * _UNITS[match[2].lower()] if match else None for match in matches
    )
    return eager is not None and queue is not None and eager + 1 > queue // 2


@exporter(
    "mvapich2-env",
    "shell file to source before mpiexec",
    needs=("profile",),
    family="mvapich2",
)
def files(bundle: Bundle) -> dict[str, str]:
    remark = "The library says nothing of a value that it does not take."
    return sourced(bundle, "MVAPICH2", remark)


def sourced(bundle: Bundle, library: str, remark: str) -> dict[str, str]:
    remarks = [
        "# mpiexec carries the environment to all nodes; mpirun_rsh wants the variables as",
        f"# arguments. {remark}",
    ]
    return hydra.files(bundle, plumbline_sh.text(bundle, library, remarks, variables(bundle)))


def variables(bundle: Bundle) -> dict[str, str]:
    """Return what holds for a whole process. Two winners that want different values are an
    error."""
    values: dict[str, str] = {}
    chosen = [winner for winner in bundle.winners if not is_profile(winner)]
    for (function, _), group in groups(chosen).items():
        for name, value in _of(function, group).items():
            put(values, group[0], name, value)
    for name in values:
        if why := refused(name, values):
            raise PlumblineError(f"{name}={values[name]}: {why}")
    return dict(sorted(values.items()))


def _of(function: str, group: Sequence[Winner]) -> dict[str, str]:
    """Return what one winner wants, which holds for all sizes, be it with an algorithm for each
    range."""
    (first, *others) = group
    if first.bytes_from != 0 or group[-1].bytes_to != UNBOUNDED_BYTES:
        raise PlumblineError(
            f"{function}: there are winners from {sizes(first)} to {sizes(group[-1])} alone; "
            "the library cannot be told to decide itself at the others"
        )
    if others:
        raise PlumblineError(
            f"{function}: winners differ by size in what has one value for all sizes; drop all but "
            "one of them"
        )
    ranged = [name for name, value in first.configuration.items() if by_size.has_sizes(value)]
    beside = [companions(name) for name in ranged if name in SWITCHES]
    return reduce(or_, beside, dict(first.configuration))


def question(library: Library) -> Question | None:
    build = library.build
    return Question(("mpiname", "-a"), build["package"]) if "package" in build else None


FAMILY = Family(
    prefixes=("MV2_",),
    script="mvapich2-env",
    variables=variables,
    question=question,
    in_ranges=IN_RANGES,
    lint=Linting(
        versions=((2, 3, 7),),
        variables=PATTERN,
        findings=findings,
        refusal=("misread", "is taken, without a word, for another one that exists"),
        options=hydra.OPTIONS,
    ),
)
