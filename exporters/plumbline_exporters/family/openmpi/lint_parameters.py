"""MCA parameters of Open MPI, in a parameter file (`openmpi-mca-params.conf` and whatever
OMPI_MCA_mca_base_param_files names), an environment, or mpirun's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import mca_params, tuned
from plumbline_exporters.family.openmpi.lint_tuned_rules import LIBRARY_DECIDES
from plumbline_exporters.family.openmpi.mca_params import (
    COMPONENTS,
    HAN_RULES,
    HAN_SWITCH,
    PREFIX,
    RULES,
    SWITCH,
    leaves_out,
)
from plumbline_exporters.finding import (
    Assignment,
    Effect,
    FileKind,
    Finding,
    LintTarget,
    NamedFile,
    named,
)
from plumbline_exporters.lint import parameters

_NEEDED = ("basic", "libnbc")  # no other component has what these have
# The library's own decision takes these too.
_READ_ANYWAY = (
    "coll_tuned_alltoall_algorithm_max_requests",
    "coll_tuned_scatter_algorithm_max_requests",
)
OPTIONS = tuple(
    f"{dash}{name}" for name in ("mca", "gmca", "omca", "gomca") for dash in ("--", "-")
)
# Parameters that name a file, with the effect of a missing file.
_PASSED_OVER: tuple[Effect, str] = ("ignored", "the library says nothing and goes without")
FILES = {
    RULES: FileKind(_PASSED_OVER, ("ompi-json", "ompi-rules")),
    HAN_RULES: FileKind(_PASSED_OVER, ("ompi-han-rules",)),
}
_COMMENT = re.compile(r"(?<!\s)\s+[#;]")
_STEMS = {tuned.parameter_prefix(function): function for function in tuned.COLLECTIVES}


def parameter_findings(
    given: Sequence[Assignment], target: LintTarget, prefix: str = ""
) -> Iterator[Finding]:
    """Return those of names without `prefix`, which is what they have in this file."""
    if not prefix:
        yield from _of_comments(given)
        given = [
            msgspec.structs.replace(assignment, value=_COMMENT.split(assignment.value or "")[0])
            for assignment in given
        ]
    last = {assignment.name: assignment for assignment in given}
    plain = [assignment for assignment in last.values() if assignment.name not in _STEMS]
    yield from parameters.check(plain, target, prefix=prefix)
    forced = {
        _STEMS[assignment.name]: assignment
        for assignment in last.values()
        if assignment.name in _STEMS and assignment.value not in (str(LIBRARY_DECIDES), "ignore")
    }
    for function, assignment in forced.items():
        yield from _of_forced(function, assignment, target, prefix)
    yield from _of_switches(last, forced, prefix)
    yield from _of_components(last, forced, prefix)
    yield from _of_bare_names(last, target, prefix)
    if RULES in last:
        for function, assignment in forced.items():
            yield _of_precedence(function, assignment, last[RULES], target, prefix)
    yield from _of_parameters(last, forced, prefix)
    yield from _of_files(last, prefix)
    for assignment in last.values():
        value = assignment.value or ""
        if _is_octal(value):
            yield Finding(
                assignment.line, "misread", "octal",
                f"{prefix}{assignment.name}: {value} starts with 0 and is octal"
                + ("" if re.search("[89]", value) else f": {int(value, 8)}"), f"write {int(value)}",
            )  # fmt: skip


def of_variables(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    """Return those of names with PREFIX."""
    bare = [
        msgspec.structs.replace(assignment, name=assignment.name.removeprefix(PREFIX))
        for assignment in given
    ]
    yield from parameter_findings(bare, target, PREFIX)


def _is_octal(value: str) -> bool:
    """A number that says something else for starting with 0."""
    if not re.fullmatch(r"0[0-9]{1,18}", value):
        return False
    return bool(re.search("[89]", value)) or int(value, 8) != int(value)


def _of_forced(
    function: str, assignment: Assignment, target: LintTarget, prefix: str
) -> Iterator[Finding]:
    if assignment.value is None or _is_octal(assignment.value):
        return
    collective = tuned.COLLECTIVES[function]
    listed = collective.names(*target.versions)
    taken = parameters.takes(assignment.name, assignment.value, target)
    number = (
        listed.index(assignment.value) + 1
        if assignment.value in listed
        else _number(assignment.value)
    )
    name = tuned.name_in(function, number, target.versions)
    if not name:
        if taken:
            return
        yield Finding(
            assignment.line, "ignored", "no-such-algorithm",
            f"{prefix}{assignment.name}: {function} has no algorithm {assignment.value}; a "
            "warning, and the "
            "library decides", f"take one of 1 to {len(listed)}, or a name",
        )  # fmt: skip
        return
    if name in collective.commutative_only:
        right = [
            algorithm
            for algorithm in collective.algorithms
            if algorithm not in collective.commutative_only
        ]
        yield Finding(
            assignment.line, "corrupts", "not-commutative",
            f"{function} {name} ({number}) gives wrong results, without an error, for operations "
            "that do not commute", f"take {', '.join(right)}, or leave it to the library",
        )  # fmt: skip
    if name == "two_proc":
        yield Finding(
            assignment.line, "fails", "two-processes",
            f"{function} {name} ({number}) fails with MPI_ERR_UNSUPPORTED_OPERATION on every "
            "communicator that does not have 2 ranks",
            "take another one, or a rules file with a block for 2 ranks alone",
        )  # fmt: skip


def _number(value: str) -> int:
    match = re.fullmatch(r"[ \t]*\+?(0[xX][0-9a-fA-F]{1,7}|[0-9]{1,9})", value)
    if match is None:
        return -1
    return int(match[1], 16 if match[1][:2].lower() == "0x" else 10)


def _of_switches(
    last: dict[str, Assignment], forced: dict[str, Assignment], prefix: str
) -> Iterator[Finding]:
    wanting = [*forced.values(), *(last[name] for name in (RULES,) if name in last)]
    switch = last.get(SWITCH)
    if wanting and (switch is None or not parameters.is_true(switch.value)):
        yield Finding(
            min(assignment.line for assignment in wanting), "ignored", "no-switch",
            f"without {prefix}{SWITCH}=1 neither forced algorithms nor a rules file count, and "
            "nothing says so", f"set {prefix}{SWITCH} to 1 beside it",
        )  # fmt: skip
    switch = last.get(HAN_SWITCH)
    if HAN_RULES in last and (switch is None or not parameters.is_true(switch.value)):
        yield Finding(
            last[HAN_RULES].line, "ignored", "no-switch",
            f"without {prefix}{HAN_SWITCH}=1 the rules file of coll/han is not read",
            f"set {prefix}{HAN_SWITCH} to 1 beside it",
        )  # fmt: skip


def _of_components(
    last: dict[str, Assignment], forced: dict[str, Assignment], prefix: str
) -> Iterator[Finding]:
    """`coll` names the components that the library takes, or those that it does not."""
    listed = last.get(COMPONENTS)
    if listed is None or not listed.value:
        return
    without = listed.value.startswith("^")
    missing = [name for name in _NEEDED if leaves_out(listed.value, name)]
    if missing:
        yield Finding(
            listed.line, "fails", "component-needed",
            f"{prefix}{COMPONENTS} = {listed.value} leaves coll/{' and coll/'.join(missing)} out, "
            "and no other component has all collectives: every program ends in MPI_Init",
            f"take {' and '.join(missing)} {'out of' if without else 'into'} the list",
        )  # fmt: skip
        return
    wanting = {
        "tuned": [*forced.values(), *(last[name] for name in (RULES,) if name in last)],
        "han": [last[name] for name in (HAN_RULES,) if name in last],
    }
    for component, unheard in wanting.items():
        if unheard and leaves_out(listed.value, component):
            yield Finding(
                listed.line, "ignored", "component-left-out",
                f"{prefix}{COMPONENTS} = {listed.value} leaves coll/{component} out, so that "
                f"{', '.join(prefix + assignment.name for assignment in unheard)} count for "
                "nothing, and nothing says so",
                f"take {component} {'out of' if without else 'into'} the list",
            )  # fmt: skip


def _of_bare_names(
    last: dict[str, Assignment], target: LintTarget, prefix: str
) -> Iterator[Finding]:
    """A name without its framework, or without its component too, is nobody's."""
    for name, assignment in last.items():
        if "_" not in name or target.parameters(name):
            continue
        whole = next(
            (w for w in (f"coll_tuned_{name}", f"coll_{name}") if target.parameters(w)), ""
        )
        if whole:
            yield Finding(
                assignment.line, "ignored", "unknown-name",
                f"openmpi has no {prefix}{name}, and says nothing of names that it does not know",
                f"did you mean {prefix}{whole}?",
            )  # fmt: skip


def _of_precedence(
    function: str, forced: Assignment, rules: Assignment, target: LintTarget, prefix: str
) -> Finding:
    older = "in 4.1 the file wins where it has rules for it"
    newer = "from 5.0 on this wins, and the file's rules for it are not looked at"
    words = []
    if target.some(lambda version: version < (5, 0, 0)):
        words.append(older)
    if target.some(lambda version: version >= (5, 0, 0)):
        words.append(newer)
    return Finding(
        forced.line, "ignored", "forced-and-rules",
        f"{function} is forced here, and a rules file is named in line {rules.line}: "
        + ", ".join(words), f"leave {prefix}{forced.name} out, or the file's rules for {function}",
    )  # fmt: skip


def _of_parameters(
    last: dict[str, Assignment], forced: dict[str, Assignment], prefix: str
) -> Iterator[Finding]:
    for stem, function in _STEMS.items():
        for suffix in ("_segmentsize", "_chain_fanout", "_max_requests"):
            parameter = last.get(stem + suffix)
            if parameter is None or parameter.name in _READ_ANYWAY:
                continue
            if function not in forced and parameter.value not in ("0", "-1"):
                yield Finding(
                    parameter.line, "ignored", "parameters-without-algorithm",
                    f"{prefix}{parameter.name} belongs to an algorithm that is forced, and none "
                    "is: the "
                    "library decides everything itself", f"set {prefix}{stem} too, or leave it out",
                )  # fmt: skip


def _of_files(last: dict[str, Assignment], prefix: str) -> Iterator[Finding]:
    for name in (RULES, HAN_RULES):
        file_named = last.get(name)
        if (
            file_named is not None
            and file_named.value
            and not file_named.value.startswith(("/", "~", "'", '"', "{"))
        ):
            yield Finding(
                file_named.line, "ignored", "relative-path",
                f"{prefix}{name}: {file_named.value} is looked for in the folder that each rank "
                "starts "
                "in; where it is not there nothing is said", "write the path from / on",
            )  # fmt: skip


def _of_comments(given: Sequence[Assignment]) -> Iterator[Finding]:
    """Return findings of comments: in a file a value goes on to the end of its line; of what must
    be a number, what follows the number does no harm."""
    for assignment in given:
        if (
            assignment.value
            and _COMMENT.search(assignment.value)
            and not assignment.value[:1].isdigit()
        ):
            yield Finding(
                assignment.line, "misread", "comment-in-value",
                f"{assignment.name}: the whole line is the value, what looks like a comment too",
                "put comments in lines of their own",
            )  # fmt: skip
        elif assignment.value and assignment.name in _STEMS and _COMMENT.search(assignment.value):
            yield Finding(
                assignment.line, "ignored", "comment-in-value",
                f"{assignment.name}: the whole line is the value, what looks like a comment too: a "
                "warning, and the library decides",
                "put comments in lines of their own",
            )  # fmt: skip


SUMMARY = "parameter file of Open MPI (name = value)"
# The lines that mpirun of 5.0 and later takes in a file for --tune.
_OPTION = r"(?:-x [^\s=]+=\S*|--mca +\S+ +\S+)"
_OF_TUNE_FILE = re.compile(rf"(?:#.*|{_OPTION}(?:\s+{_OPTION})*|[^\s=-][^\s=]*=\S*)?")


def recognises(name: str, text: str) -> bool:
    """Every line is `name = value` with a name of a framework, not of the environment."""
    given, strange = mca_params.read(text)
    if name.endswith("mca-params.conf"):
        return True
    return (
        bool(given)
        and not strange
        and all(assignment.name == assignment.name.lower() for assignment in given)
    )


def refers(text: str) -> list[NamedFile]:
    """The rules files that this file puts in force."""
    return named(mca_params.read(text)[0], FILES)


def findings(text: str, context: Context) -> Iterator[Finding]:
    given, strange = mca_params.read(text)
    lines = text.split("\n")
    target = context.target("openmpi")
    yield from _of_line_ends(text, given, target)
    if target.every(lambda version: version >= (5, 0, 0)):
        yield from _of_tune_file(lines, given)
    for number in strange:
        yield Finding(
            number, "ignored", "not-a-parameter",
            f"{lines[number - 1].strip()!r} is not name = value: Open MPI complains at every start "
            "and goes on without it", "write name = value",
        )  # fmt: skip
    for assignment in given:
        if assignment.value and re.fullmatch(r"([\"']).*\1", assignment.value):
            yield Finding(
                assignment.line, "misread", "quoted-value",
                f"{assignment.name}: the quotes are part of the value here",
                "write it without quotes",
            )  # fmt: skip
    for assignment in given:
        if assignment.name.startswith(mca_params.PREFIX):
            yield Finding(
                assignment.line, "ignored", "environment-name",
                f"{assignment.name} is the name in the environment; in a file nothing has it",
                f"write {assignment.name.removeprefix(mca_params.PREFIX)}",
            )  # fmt: skip
    bare_parameters = [
        assignment for assignment in given if not assignment.name.startswith(mca_params.PREFIX)
    ]
    yield from parameter_findings(bare_parameters, target)


def _of_tune_file(lines: list[str], given: list[Assignment]) -> Iterator[Finding]:
    """Return what ends mpirun 5.0. Only a file for its --tune has options in it."""
    if not any(line.lstrip().startswith("-") for line in lines):
        return
    for number, line in enumerate(lines, 1):
        if not _OF_TUNE_FILE.fullmatch(line.strip()):
            yield Finding(
                number, "fails", "tune-line",
                f"mpirun --tune of this version takes no line {line.strip()!r} and ends",
                "write name=value without blanks, --mca name value, or -x NAME=VALUE",
            )  # fmt: skip
    values: dict[str, str | None] = {}
    for assignment in given:
        if values.setdefault(assignment.name, assignment.value) != assignment.value:
            yield Finding(
                assignment.line, "fails", "tune-twice",
                f"{assignment.name} has another value in an earlier line: mpirun --tune of this "
                "version ends", "leave one of them out",
            )  # fmt: skip


def _of_line_ends(text: str, given: list[Assignment], target: LintTarget) -> Iterator[Finding]:
    """A number is read up to the carriage return, everything else with it."""
    ends = [line.rstrip(" \t").endswith("\r") for line in text.split("\n")]
    for assignment in given:
        parameters = [taken for taken in target.parameters(assignment.name) if taken.pattern]
        value = assignment.value or ""
        numeric = bool(parameters) or bool(re.fullmatch(r"[0-9]*", value))
        is_taken = numeric and all(taken.takes(value + "\r") for taken in parameters)
        if "\r" in value or (ends[assignment.line - 1] and not is_taken):
            yield Finding(
                assignment.line, "misread", "carriage-return",
                f"{assignment.name}: lines end with a carriage return, as on Windows, and it is "
                "part of the value here", "write the file with plain line ends (dos2unix)",
            )  # fmt: skip
            return
