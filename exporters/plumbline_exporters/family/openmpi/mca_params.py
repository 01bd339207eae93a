"""Lines for an `openmpi-mca-params.conf`: what holds for every process that reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters import quoting
from plumbline_exporters.assignments import Assignment
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.family.openmpi import han, rules, tuned
from plumbline_exporters.family.openmpi.knobs import global_knobs, is_rule
from plumbline_exporters.registry import exporter

FILE_NAME = "mca-params.conf"
PREFIX = "OMPI_MCA_"  # of the same parameters as variables
ELSEWHERE = f"{PREFIX}mca_base_param_files"
SWITCH = "coll_tuned_use_dynamic_rules"
RULES = "coll_tuned_dynamic_rules_filename"
HAN_SWITCH = "coll_han_use_dynamic_file_rules"
HAN_RULES = "coll_han_dynamic_rules_filename"
_PARAMETER = re.compile(r"(?P<name>\w+)\s*=(?P<value>.*)\Z")
_OPTION = re.compile(r"--?mca\s+(?P<name>\w+)\s+(?P<value>.*)\Z")
_FORCED = re.compile(r"coll_tuned_[a-z_]+_algorithm\Z")


def parameters(bundle: Bundle) -> dict[str, str]:
    """MCA parameters that put the rules files and the global knobs in force."""
    tuned.version(bundle.library)
    values: dict[str, str] = {}
    if any(is_rule(winner) for winner in bundle.winners):
        values[SWITCH] = "1"
        values[RULES] = str(bundle.directory / rules.file_name(bundle.library))
    if any(han.is_past_han(winner) for winner in bundle.winners):
        values[HAN_SWITCH] = "1"
        values[HAN_RULES] = str(bundle.directory / han.FILE_NAME)
    return values | global_knobs(bundle)


def line(parameter: str, value: str) -> str:
    """A value goes on to the end of its line."""
    if value != value.strip():
        raise PlumblineError(f"{parameter}: the value {value!r} cannot stand in an MCA file")
    return f"{quoting.name(parameter)} = {quoting.held(value)}"


def read(text: str) -> tuple[list[Assignment], list[int]]:
    """Return what a file sets: `name = value`, or `--mca name value`; and the lines that are
    neither. What follows a value in its line is part of it, a comment too (as ompi_info shows)."""
    assignments: list[Assignment] = []
    strange: list[int] = []
    for number, written in enumerate(text.splitlines(), 1):
        bare = written.strip()
        if not bare or bare[0] == "#" or re.match(r"--?x\s", bare):
            continue
        match = _PARAMETER.match(bare) or _OPTION.match(bare)
        if match is not None:
            assignments.append(Assignment(number, match["name"], match["value"].strip()))
        else:
            strange.append(number)
    return assignments, strange


def silences(
    foreign: Assignment, own_parameters: Mapping[str, str], library: Library | None
) -> str:
    """Return whether rules are silenced: from 5 on a forced algorithm silences rules."""
    first = library is None or tuned.version(library) >= (5, 0, 0)
    forced = _FORCED.match(foreign.name) and foreign.value not in ("0", "ignore")
    if not (RULES in own_parameters and first and forced):
        return ""
    return (
        f"line {foreign.line} forces {foreign.name} = {foreign.value}: this library does not look "
        "at "
        "rules for that function then"
    )


@exporter(
    "mca-params",
    "parameter file for Open MPI (name = value)",
    needs=("ompi-rules", "ompi-han-rules"),
    family="openmpi",
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = heading(bundle, "MCA parameters for Open MPI, written by Plumbline.")
    lines.append("# In force in a file that OMPI_MCA_mca_base_param_files names, or in one of")
    lines.append("# $HOME/.openmpi/mca-params.conf and PREFIX/etc/openmpi-mca-params.conf.")
    if bundle.variants:
        lines.append("# Variants need the preload library, which this file cannot start: use env.")
    lines += [line(name, value) for name, value in parameters(bundle).items()]
    return {FILE_NAME: "\n".join(lines) + "\n"}
