"""Environments: files of POSIX shells, csh and fish, module files, job scripts, NAME=VALUE lists.
Variables of every library that is known may stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from plumbline_exporters.lint import (
    impi_variables,
    mpich_variables,
    mv2_variables,
    ompi_parameters,
)
from plumbline_exporters.lint.assignments import Assignment, is_plain, of_shell
from plumbline_exporters.lint.finding import Context, Finding

SUMMARY = "environment: shell file, module file, job script, or NAME=VALUE lines"
_FILES = (
    ompi_parameters.PREFIX + ompi_parameters.RULES,
    ompi_parameters.PREFIX + ompi_parameters.HAN_RULES,
    *mpich_variables.TABLES,
)
_OURS = re.compile(r"(?:OMPI_MCA_|MPIR_CVAR_|MPICH_|MVP_|MV2_|I_MPI_)\w+\Z")
_SPACED = re.compile(r"\s*(?:export\s+)?(?P<name>\w+)(?:\s+=\s*|\s*=\s+)(?P<value>[^\s=]\S*)")
_PRELOAD = "LD_PRELOAD"


def recognises(name: str, text: str) -> bool:
    if text.startswith(("#!", "#%Module")):
        return True
    if name.endswith((".sh", ".csh", ".fish", ".lua", ".env", ".sbatch", ".slurm")):
        return True
    return any(
        _OURS.match(assignment.name) or assignment.name == _PRELOAD for assignment in of_shell(text)
    )


def refers(text: str) -> list[tuple[int, str]]:
    return [
        (assignment.line, assignment.value)
        for assignment in of_shell(text)
        if assignment.name in _FILES and assignment.value
    ]


def findings(text: str, context: Context) -> Iterator[Finding]:
    given = of_shell(text)
    plain = is_plain(text)
    yield from _of_shells(text, given, plain)
    heard = [assignment for assignment in given if assignment.exported or plain]
    openmpi = [
        msgspec.structs.replace(
            assignment, name=assignment.name.removeprefix(ompi_parameters.PREFIX)
        )
        for assignment in heard
        if assignment.name.startswith(ompi_parameters.PREFIX)
    ]
    target = context.target("openmpi")
    yield from ompi_parameters.findings(openmpi, target, ompi_parameters.PREFIX)
    intel = [assignment for assignment in heard if assignment.name.startswith("I_MPI_")]
    yield from impi_variables.findings(intel, context.target("intelmpi"))
    second = [assignment for assignment in heard if mv2_variables.is_ours(assignment.name)]
    yield from mv2_variables.findings(second, context.target("mvapich2"))
    mpich = [
        assignment
        for assignment in heard
        if mpich_variables.is_ours(assignment.name) and assignment not in second
    ]
    yield from mpich_variables.findings(mpich, context.of_mpich())


def _of_shells(text: str, given: list[Assignment], plain: bool) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        match = _SPACED.match(line)
        if match is not None and _OURS.match(match["name"]):
            yield Finding(
                number, "ignored", "blank-at-equals",
                f"{match['name']}: with a blank beside the = a shell sets nothing",
                f"write {match['name']}={match['value']}",
            )  # fmt: skip
    for assignment in given:
        if _OURS.match(assignment.name) and not (assignment.exported or plain):
            yield Finding(
                assignment.line, "ignored", "not-exported",
                f"{assignment.name} is a variable of the shell alone: programs do not get it",
                f"write export {assignment.name}=…",
            )  # fmt: skip
        if assignment.name == _PRELOAD and assignment.exported and not assignment.depends:
            yield Finding(
                assignment.line, "reaches", "preload-everywhere",
                f"{_PRELOAD} is loaded into every program that is started from here, the shell's "
                "own and mpirun too, and not into the ranks alone",
                "let the launcher set it for the ranks (mpirun -x, -genv, I_MPI_GTOOL)",
            )  # fmt: skip
