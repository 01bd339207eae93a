"""Reports of the library about the parameters that were applied: in the environment of a plain
mpirun, with the variables of the user's shell and all parameter files."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from plumbline.applied import files
from plumbline.applied.files import find_block
from plumbline.applied.generations import Generation
from plumbline.applied.places import Place
from plumbline.applied.targets import AppliedOutcome
from plumbline.libraries import Family, Installation, Knob, ReadsParameterFiles
from plumbline_db.records import Library
from plumbline_exporters import families
from plumbline_exporters.finding import Assignment


def noted(
    done: AppliedOutcome, place: Place, family: Family, installation: Installation
) -> AppliedOutcome:
    """Return `done` with what the library reports. A file that only shells read has no reader that
    could be asked."""
    read = [where for where in place.where if where.form == "parameters"]
    if not read or not isinstance(family, ReadsParameterFiles):
        return done
    library = installation.library
    own_parameters: dict[str, str] = {}
    for where in read:
        block = find_block(files.read(where.path).text, place.name)
        own_parameters |= _lines(library.family, block.text if block else "")
    reported = family.reported_in(installation, plain_environment(family, installation))
    wrong = differing(own_parameters, reported, family, library.id)
    wrong += _silenced(own_parameters, reported, family, library)
    notes = list(done.notes)
    if own_parameters and not wrong:
        asked = families.of(library).question(library)
        notes.append(f"{asked.tool if asked else family.name} of {library.id} reports these values")
    return msgspec.structs.replace(done, notes=notes, not_in_force=wrong)


def _silenced(
    own_parameters: Mapping[str, str],
    reported: Mapping[str, Knob],
    family: ReadsParameterFiles,
    library: Library,
) -> list[str]:
    """Return a sentence, with the remedy, for each parameter of others beside which the library
    hears none of ours, whatever values it reports."""
    file = families.parameter_file(library)
    sentences = []
    for knob in reported.values():
        if not knob.source or knob.name in own_parameters:
            continue
        reason = file.silences(Assignment(0, knob.name, knob.value), own_parameters, library)
        if reason:
            sentences.append(f"{reason}: {family.undoing(knob)}")
    return sentences


def plain_environment(family: Family, installation: Installation) -> dict[str, str]:
    """The environment that a plain mpirun of the user has in this shell."""
    return os.environ | installation.environment | family.environment(installation)


def parameters_of(generation: Generation) -> dict[str, str]:
    """Return the lines of a generation that the library reads by itself."""
    parameters: dict[str, str] = {}
    for target in generation.targets:
        if target.kind == "lines":
            parameters |= _lines(generation.library.family, target.text)
    return parameters


def _lines(family_name: str, text: str) -> dict[str, str]:
    file = families.families()[family_name].parameter_file
    lines = file.read(text) if file is not None else []
    return {line.name: line.value or "" for line in lines}


def differing(
    own_parameters: Mapping[str, str],
    reported: Mapping[str, Knob],
    family: ReadsParameterFiles,
    library: str,
) -> list[str]:
    """Return a sentence, with the remedy, for each parameter that has another value than ours."""
    wrong = []
    for name, value in own_parameters.items():
        knob = reported.get(name)
        if knob is not None and _same(knob, value):
            continue
        value_here = f"{knob.value} ({knob.source or 'default'})" if knob else "no such parameter"
        remedy = f": {family.undoing(knob)}" if knob and knob.source else ""
        wrong.append(f"{name} = {value}: {library} says {value_here}{remedy}")
    others = silencers(own_parameters, reported, family) if wrong else ""
    return [f"{sentence}{others}" for sentence in wrong]


def silencers(
    own_parameters: Mapping[str, str], reported: Mapping[str, Knob], family: ReadsParameterFiles
) -> str:
    """Name the parameters of others that may take ours out of use, and how to undo them. Empty
    where nobody has set one."""
    suspects = [
        f"{knob.name} = {knob.value} ({family.undoing(knob)})"
        for knob in reported.values()
        if knob.source and knob.name not in own_parameters and family.silencing.match(knob.name)
    ]
    return f"; these may be the reason: {', '.join(suspects)}" if suspects else ""


def _same(knob: Knob, written: str) -> bool:
    """Numbers are reported by the names that they have."""
    reported = knob.value
    if reported in knob.choices and written == str(knob.choices[reported]):
        return True
    return reported == written or {reported, written} in ({"true", "1"}, {"false", "0"})
