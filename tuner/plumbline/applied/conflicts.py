"""Settings that others have made already, and what of them contradicts us.

Where both want a value of one thing, nobody can say who is meant to win, so that is refused; what
merely changes who is heard is told."""

from __future__ import annotations

import re
from collections.abc import Mapping

from plumbline_db.records import Library
from plumbline_exporters.families import ParameterFile


def in_parameters(
    text: str, own_parameters: Mapping[str, str], file: ParameterFile, library: Library | None
) -> list[str]:
    """`text`: a file of parameters without our lines. `library` is None for any of its family."""
    conflicts = []
    for line in file.read(text):
        if line.name in own_parameters and line.value != own_parameters[line.name]:
            conflicts.append(
                f"line {line.line} sets {line.name} = {line.value}, wanted is "
                f"{own_parameters[line.name]}"
            )
        elif silenced := file.silences(line, own_parameters, library):
            conflicts.append(silenced)
    return conflicts


def in_shell(text: str, own_variables: Mapping[str, str]) -> list[str]:
    """`text`: a file that a shell reads, without our lines."""
    conflicts = []
    for number, line in enumerate(text.split("\n"), 1):
        for name in own_variables:
            if re.search(
                rf"(?:\b{name}=|\bsetenv\s+{name}\b|\bset\s+-\S+\s+{name}\b)",
                line.partition("#")[0],
            ):
                conflicts.append(
                    f"line {number} sets {name}, which is to be set to {own_variables[name]}"
                )
    return conflicts


def in_environment(environment: Mapping[str, str], own_variables: Mapping[str, str]) -> list[str]:
    """Variables of this shell that the library hears before what is written into files."""
    return [
        f"{name} is set in this shell to {environment[name]}, which is heard first"
        for name in sorted(own_variables)
        if name in environment and environment[name] != own_variables[name]
    ]
