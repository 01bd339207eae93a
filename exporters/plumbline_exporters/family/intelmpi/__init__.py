"""Intel MPI 2021, and a POSIX shell file for it that a user sources before mpirun. The presets are
variables, which mpirun carries to all ranks. The preload library must enter the ranks and nothing
else of the user's shell: I_MPI_GTOOL is a command that mpirun puts before the program of each rank,
here `env LD_PRELOAD=…`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters import facts, plumbline_sh, profile, quoting
from plumbline_exporters.bundle import Bundle, groups, is_profile, last_volume, put, sizes
from plumbline_exporters.families import Family, Linting, Question
from plumbline_exporters.family import hydra
from plumbline_exporters.finding import Assignment, FileKind, Finding, LintTarget
from plumbline_exporters.lint.parameters import check
from plumbline_exporters.registry import exporter

# I_MPI_ADJUST_* and what stands beside it. How Intel MPI reads a value was measured
# (docs/design/libraries.md; tests/exporters/test_impi_ranges.py).

_ENTRY = re.compile(
    r"(?P<preset>-?[0-9]{1,18})(?::(?P<low>[0-9]{1,18})(?:-(?P<high>[0-9]{1,18}))?"
    r"(?:@(?P<least>[0-9]{1,18})(?:-(?P<most>[0-9]{1,18}))?)?)?\Z"
)
TUNING_FILE = "I_MPI_TUNING_BIN"
TUNING = FileKind(("ignored", "the library takes its own tuning file, and says so under debug"), ())
_ON_MATCH = "I_MPI_ADJUST_FAILURE_ON_MATCH_FALLBACK"
_ON_COLLECTIVE = "I_MPI_ADJUST_FAILURE_ON_COLL_FALLBACK"
_OFF = frozenset({"0", "off", "no", "disable"})


class _AdjustEntry(msgspec.Struct, frozen=True):
    """`ranks` is empty where the entry holds for any number of them."""

    preset: str
    low: int
    high: int | None
    ranks: str

    @property
    def end(self) -> int:
        return LAST if self.high is None else self.high


def _read(value: str) -> list[_AdjustEntry] | None:
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
            _AdjustEntry(match["preset"], low, None if high is None else int(high), ranks)
        )
    return entries


def findings(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    last = {assignment.name: assignment for assignment in given}
    functions = {knob(function): function for function in FUNCTIONS}
    yield from check(
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
    entries = _read(value)
    number = re.match(r"[0-9]{1,9}(?=[^0-9])", value.strip())
    if entries is None and number is not None and ";" not in value:
        yield Finding(
            assignment.line, "misread", "text-behind-preset",
            f"{assignment.name}: of {value!r} the number in front is taken, for all sizes, and the "
            "rest is passed over", "write PRESET, or for instance 2:0-4096;1:4097-2147483647",
        )  # fmt: skip
        entries = [_AdjustEntry(number[0], 0, None, "")]
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
                "dropped, with a line on standard output", f"take {preset_known.choices}",
            )  # fmt: skip
    unsafe = not_commutative(function)
    for preset in sorted({entry.preset for entry in entries} & unsafe):
        yield Finding(
            assignment.line, "corrupts", "not-commutative",
            f"{assignment.name}: preset {preset} gives wrong results, without an error, for "
            "operations "
            "that do not commute", "take another preset",
        )  # fmt: skip
    yield from _of_ranges(function, assignment, entries)


def _of_ranges(
    function: str, assignment: Assignment, entries: list[_AdjustEntry]
) -> Iterator[Finding]:
    bounds = {(entry.low, entry.high) for entry in entries}
    sized = len(bounds) > 1 or any(entry.low or (entry.high is not None and
                                   entry.end < LAST) for entry in entries)  # fmt: skip
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
    if function not in WITH_SIZES and len({entry.preset for entry in entries}) > 1:
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
                f"put {OWN_DECISION}:{following}-{entry.low - 1} in front of it",
            )  # fmt: skip
        following = entry.end + 1
    if ends[-1] < LAST:
        yield Finding(
            assignment.line, "reaches", "open-above",
            f"{assignment.name}: preset {entries[-1].preset} holds above {ends[-1]} bytes too: "
            "what lies "
            "above the last range goes with it",
            f"put {OWN_DECISION}:{following}-{LAST} behind it",
        )  # fmt: skip


# Values of I_MPI_ADJUST_*: a preset for each range of what Intel MPI takes for the message size.
# Of the ranges of a value only the upper ends count: what lies below the first one or between two
# goes with the next, what lies above the last goes with it. So the ranges cover everything, in
# order. Outside our own stands 0: the library's tuned decision. (That is not the library as it is:
# a variable that is set turns off a faster way for small messages, where there is one.)

ADJUST = "I_MPI_ADJUST_"
OWN_DECISION = "0"
LAST = 2**31 - 1

# Functions that never check whether their preset applies, so that nothing can be proven for them.
SILENT = ("MPI_Exscan", "MPI_Scan")

# The size that is compared with a range: the whole volume, the block of one process, or nothing
# known, so that a value must be the same for all sizes. It was measured with presets that fail
# (tests/exporters/test_impi_ranges.py).
_VOLUME = frozenset({"MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Reduce_scatter"})
_BLOCK = frozenset(
    {
        "MPI_Allgather",
        "MPI_Allgatherv",
        "MPI_Alltoall",
        "MPI_Gather",
        "MPI_Reduce_scatter_block",
        "MPI_Scatter",
    }
)

WITH_SIZES = _VOLUME | _BLOCK
_WITHOUT = ("MPI_Alltoallv", "MPI_Alltoallw", "MPI_Barrier", "MPI_Gatherv", "MPI_Scatterv")
FUNCTIONS = tuple(sorted((*WITH_SIZES, *_WITHOUT, *SILENT)))


def knob(function: str) -> str:
    """`I_MPI_ADJUST_REDUCE_SCATTER` for MPI_Reduce_scatter."""
    return ADJUST + function.removeprefix("MPI_").upper()


def not_commutative(function: str) -> frozenset[str]:
    """Presets that give wrong results, without an error, for operations that do not commute."""
    return facts.function("intelmpi", function).commutative_only()


def value_of_ranges(winners: Sequence[Winner]) -> str:
    """The value of one function's knob; its winners are in order of size, for one number of ranks.
    Where it is one preset for all sizes it holds for these ranks alone, else for any number:
    in a value with both kinds of conditions, ranges of sizes replace one another."""
    whole = [
        winner for winner in winners if (winner.bytes_from, winner.bytes_to) == (0, UNBOUNDED_BYTES)
    ]
    if whole:
        (only_winner,) = winners
        p = only_winner.nprocs
        entries = [
            (OWN_DECISION, 0, p - 1),
            (_preset(only_winner), p, p),
            (OWN_DECISION, p + 1, LAST),
        ]
        return ";".join(f"{preset}:0-{LAST}@{low}-{high}" for preset, low, high in entries)
    entries_written: list[str] = []
    following = 0
    for winner in winners:
        low, high = _range(winner)
        low = max(low, following)
        if low > high:
            raise PlumblineError(
                f"{winner.function}, {winner.nprocs} ranks, {sizes(winner)}: the library cannot "
                "tell calls of these sizes from their neighbours"
            )
        if low > following:
            entries_written.append(f"{OWN_DECISION}:{following}-{low - 1}")
        entries_written.append(f"{_preset(winner)}:{low}-{high}")
        following = high + 1
    if following <= LAST:
        entries_written.append(f"{OWN_DECISION}:{following}-{LAST}")
    return ";".join(entries_written)


def _preset(winner: Winner) -> str:
    return winner.configuration[knob(winner.function)]


def _range(winner: Winner) -> tuple[int, int]:
    """The volumes of a winner as the library counts them."""
    low, high = winner.bytes_from, winner.bytes_to
    if winner.function in _BLOCK:
        low, high = low // winner.nprocs, last_volume(winner) // winner.nprocs
    elif winner.function not in _VOLUME:
        raise PlumblineError(
            f"{winner.function}, {winner.nprocs} ranks, {sizes(winner)}: not exported: Intel MPI "
            "knows no size of such a call, so a preset must be the best for all sizes"
        )
    return low, min(high, LAST)


# Intel MPI splits a tool's command at blanks and tools at semicolons; the loader splits at colons.
_UNFIT = r"[\s;:,=$'\"\\]"

_PRELOAD = """
# The preload library, for the ranks alone. Sourcing the file twice changes nothing. A tool that is
# named on mpirun's command line (-gtool) takes its place.
plumbline_tool="env LD_PRELOAD="{library}"${{LD_PRELOAD:+:$LD_PRELOAD}}:all"
case "${{I_MPI_GTOOL-}}" in
"" | "${{PLUMBLINE_TOOL-}}")
    export I_MPI_GTOOL="$plumbline_tool" PLUMBLINE_TOOL="$plumbline_tool"
    export PLUMBLINE_PROFILE={profile}
    ;;
*)
    echo "plumbline.sh: the variants are not in force, for I_MPI_GTOOL names another tool:" \\
        "unset it, or put before its program: ${{plumbline_tool%:all}}" >&2
    ;;
esac
unset plumbline_tool
"""


@exporter("impi-env", "shell file to source before mpirun", needs=("profile",), family="intelmpi")
def files(bundle: Bundle) -> dict[str, str]:
    remarks = [
        "# mpirun carries I_MPI_* to all nodes; files named here must be there too.",
        "# Presets by range of the message size hold for any number of ranks.",
    ]
    silent = sorted({winner.function for winner in bundle.winners if _unseen(winner)})
    if silent:
        remarks.append(f"# Nothing shows whether a preset is taken for {', '.join(silent)}.")
    text = plumbline_sh.text(bundle, "Intel MPI", remarks, variables(bundle))
    if bundle.variants:
        library = plumbline_sh.preload_library(bundle, _UNFIT, "Intel MPI")
        text += _PRELOAD.format(
            library=quoting.sh(library),
            profile=quoting.sh(str(bundle.directory / profile.FILE_NAME)),
        )
        text += plumbline_sh.script(bundle, library)
    return {plumbline_sh.FILE_NAME: text}


def variables(bundle: Bundle) -> dict[str, str]:
    """Presets of functions, and what holds for the whole process: two winners that want different
    values of one variable are an error."""
    presets: dict[str, str] = {}
    ranks: dict[str, int] = {}
    chosen = [winner for winner in bundle.winners if not is_profile(winner)]
    for winner in chosen:
        preset = winner.configuration.get(knob(winner.function), "")
        if not bundle.unsafe and preset in not_commutative(winner.function):
            raise PlumblineError(
                f"{winner.function}, {winner.nprocs} ranks: not exported: preset {preset} is wrong "
                "for operations that do not commute"
            )
    with_preset = [winner for winner in chosen if knob(winner.function) in winner.configuration]
    for (function, nprocs), group in groups(with_preset).items():
        name = knob(function)
        if name in presets:
            raise PlumblineError(
                f"{function}: winners for {ranks[name]} and for {nprocs} ranks: a variable of "
                "Intel MPI holds one of them; export one campaign at a time"
            )
        presets[name], ranks[name] = value_of_ranges(group), nprocs
    for winner in chosen:
        for name, value in sorted(winner.configuration.items()):
            if name != knob(winner.function):
                put(presets, winner, name, value)
    return presets


def _unseen(winner: Winner) -> bool:
    return winner.function in SILENT and not is_profile(winner)


def question(library: Library) -> Question | None:
    build = library.build
    if "revision" not in build:
        return None
    version_line = f"Version {build['released']} Build {build['built']} (id: {build['revision']})"
    return Question(("mpiexec.hydra", "-V"), version_line)


FAMILY = Family(
    prefixes=("I_MPI_",),
    script="impi-env",
    variables=variables,
    question=question,
    lint=Linting(
        versions=((2021, 17, 2),),
        variables="I_MPI_",
        findings=findings,
        refusal=("ignored", "makes it drop the whole variable"),
        own_decision=("-1", "0"),
        files={TUNING_FILE: TUNING},
        options=hydra.OPTIONS,
    ),
)
