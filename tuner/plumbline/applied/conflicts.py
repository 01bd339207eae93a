"""What others have set already, and what of it contradicts us.

Where both want a value of one thing, nobody can say who is meant to win, so that is refused; what
merely changes who is heard is told."""

from __future__ import annotations

import re
from collections.abc import Mapping

from plumbline_exporters.lint import assignments
from plumbline_exporters.lint.assignments import Assignment

_FORCED = re.compile(r"coll_tuned_[a-z_]+_algorithm\Z")


def mca_lines(text: str) -> list[Assignment]:
    """The parameters of an MCA file. Behind a value there are no comments: the library takes the
    rest of the line (as ompi_info shows)."""
    return assignments.of_parameters(text)[0]


def in_mca(text: str, ours: Mapping[str, str], *, forced_first: bool) -> list[str]:
    """`text`: an MCA file without our lines. `forced_first`: a forced algorithm silences rules, as
    in Open MPI 5."""
    found = []
    rules = "coll_tuned_dynamic_rules_filename" in ours
    for line in mca_lines(text):
        if line.name in ours and line.value != ours[line.name]:
            found.append(
                f"line {line.line} sets {line.name} = {line.value}, wanted is {ours[line.name]}"
            )
        elif (
            rules
            and forced_first
            and _FORCED.match(line.name)
            and line.value not in ("0", "ignore")
        ):
            found.append(
                f"line {line.line} forces {line.name} = {line.value}: this library does not look "
                "at rules for that function then"
            )
    return found


def in_shell(text: str, ours: Mapping[str, str]) -> list[str]:
    """`text`: a file that a shell reads, without our lines."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for name in ours:
            if re.search(
                rf"(?:\b{name}=|\bsetenv\s+{name}\b|\bset\s+-\S+\s+{name}\b)",
                line.partition("#")[0],
            ):
                found.append(f"line {number} sets {name}, which is to be set to {ours[name]}")
    return found


def in_environment(environment: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """Variables of this shell that the library hears before what is written into files."""
    return [
        f"{name} is set in this shell to {environment[name]}, which is heard first"
        for name in sorted(ours)
        if name in environment and environment[name] != ours[name]
    ]
