"""Environments: files of POSIX shells, csh and fish, module files, job scripts, NAME=VALUE lists.
Variables of every library that is known may stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from plumbline_exporters import families
from plumbline_exporters.assignments import Assignment, is_plain, of_shell
from plumbline_exporters.finding import Context, Finding, NamedFile, named

SUMMARY = "environment: shell file, module file, job script, or NAME=VALUE lines"
_SPACED = re.compile(r"\s*(?:export\s+)?(?P<name>\w+)(?:\s+=\s*|\s*=\s+)(?P<value>[^\s=]\S*)")
_PRELOAD = "LD_PRELOAD"


def recognises(name: str, text: str) -> bool:
    if text.startswith(("#!", "#%Module")):
        return True
    if name.endswith((".sh", ".csh", ".fish", ".lua", ".env", ".sbatch", ".slurm")):
        return True
    return any(
        _is_ours(assignment.name) or assignment.name == _PRELOAD for assignment in of_shell(text)
    )


def _is_ours(name: str) -> bool:
    return name.startswith(families.prefixes()) and name not in families.prefixes()


def refers(text: str) -> list[NamedFile]:
    files = [lint.files for lint in families.linted().values()]
    return named(of_shell(text), {name: of[name] for of in files for name in of})


def findings(text: str, context: Context) -> Iterator[Finding]:
    given = of_shell(text)
    plain = is_plain(text)
    yield from _of_shells(text, given, plain)
    heard = [assignment for assignment in given if assignment.exported or plain]
    for family, lint in families.speaking(context.library.partition("-")[0]):
        of_family = [
            assignment for assignment in heard if re.match(lint.variables, assignment.name)
        ]
        yield from lint.findings(of_family, context.target(family))


def _of_shells(text: str, given: list[Assignment], plain: bool) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        match = _SPACED.match(line)
        if match is not None and _is_ours(match["name"]):
            yield Finding(
                number, "ignored", "blank-at-equals",
                f"{match['name']}: with a blank beside the = a shell sets nothing",
                f"write {match['name']}={match['value']}",
            )  # fmt: skip
    for assignment in given:
        if _is_ours(assignment.name) and not (assignment.exported or plain):
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
