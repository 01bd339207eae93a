"""Parameter files of Open MPI: `openmpi-mca-params.conf` and whatever OMPI_MCA_mca_base_param_files
names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import lint_parameters as parameters
from plumbline_exporters.family.openmpi import mca_params
from plumbline_exporters.finding import Assignment, Finding, LintTarget, NamedFile, named

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
    return named(mca_params.read(text)[0], parameters.FILES)


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
    yield from parameters.findings(bare_parameters, target)


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
