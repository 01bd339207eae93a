"""Whether the library itself says that it reads what was applied."""

from __future__ import annotations

import msgspec

from plumbline.applied import files
from plumbline.applied.blocks import find
from plumbline.applied.outcome import AppliedOutcome
from plumbline.applied.places import Place
from plumbline.libraries import Family, Installation, Knob
from plumbline_exporters import families


def noted(
    done: AppliedOutcome, place: Place, family: Family, installation: Installation
) -> AppliedOutcome:
    """`done` with what it says; where only shells read the file, there is nobody to ask."""
    read = [where for where in place.where if where.form == "parameters"]
    if not read:
        return done
    library, knobs = installation.library, family.knobs(installation)
    wrong, seen = [], 0
    for where in read:
        block = find(files.read(where.path).text, place.name)
        for line in families.parameter_file(library).read(block.text if block else ""):
            knob = knobs.get(line.name)
            if knob is None or not _same(knob, line.value or ""):
                said = f"{knob.value} ({knob.source})" if knob else "no such parameter"
                wrong.append(f"{line.name} = {line.value}: {library.id} says {said}")
            else:
                seen += 1
    notes = list(done.notes)
    if seen and not wrong:
        asked = families.of(library).question(library)
        notes.append(f"{asked.tool if asked else family.name} of {library.id} reports these values")
    return msgspec.structs.replace(done, notes=notes, not_in_force=wrong)


def _same(knob: Knob, written: str) -> bool:
    """Numbers are reported by the names that they have."""
    reported = knob.value
    if reported in knob.choices and written == str(knob.choices[reported]):
        return True
    return reported == written or {reported, written} in ({"true", "1"}, {"false", "0"})
