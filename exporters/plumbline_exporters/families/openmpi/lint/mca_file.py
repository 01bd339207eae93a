"""Parameter files of Open MPI: `openmpi-mca-params.conf` and whatever OMPI_MCA_mca_base_param_files
names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from plumbline_exporters.lint import ompi_parameters
from plumbline_exporters.lint.assignments import of_parameters
from plumbline_exporters.lint.finding import Context, Finding

SUMMARY = "parameter file of Open MPI (name = value)"


def recognises(name: str, text: str) -> bool:
    """Every line is `name = value` with a name of a framework, not of the environment."""
    given, strange = of_parameters(text)
    if name.endswith("mca-params.conf"):
        return True
    return (
        bool(given)
        and not strange
        and all(assignment.name == assignment.name.lower() for assignment in given)
    )


def refers(text: str) -> list[tuple[int, str]]:
    """Lines and paths of the rules files that this file puts in force."""
    given, _ = of_parameters(text)
    wanted = (ompi_parameters.RULES, ompi_parameters.HAN_RULES)
    return [
        (assignment.line, assignment.value)
        for assignment in given
        if assignment.name in wanted and assignment.value
    ]


def findings(text: str, context: Context) -> Iterator[Finding]:
    given, strange = of_parameters(text)
    lines = text.splitlines()
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
        if assignment.name.startswith(ompi_parameters.PREFIX):
            yield Finding(
                assignment.line, "ignored", "environment-name",
                f"{assignment.name} is the name in the environment; in a file nothing has it",
                f"write {assignment.name.removeprefix(ompi_parameters.PREFIX)}",
            )  # fmt: skip
    ours = [
        assignment for assignment in given if not assignment.name.startswith(ompi_parameters.PREFIX)
    ]
    yield from ompi_parameters.findings(ours, context.target("openmpi"))
