"""Whether the library itself says that it reads what was applied."""

from __future__ import annotations

import msgspec

from plumbline.applied import conflicts, files
from plumbline.applied.blocks import find
from plumbline.applied.outcome import AppliedOutcome
from plumbline.applied.places import Place
from plumbline.libraries import Family, Installation, Knob


def noted(
    done: AppliedOutcome, place: Place, family: Family, installation: Installation
) -> AppliedOutcome:
    """`done` with what it says; where only shells read the file, there is nobody to ask."""
    mca = [where for where in place.where if where.form == "mca"]
    if not mca:
        return done
    knobs = family.knobs(installation)
    wrong, seen = [], 0
    for where in mca:
        block = find(files.read(where.path).text, place.name)
        for line in conflicts.mca_lines(block.text if block else ""):
            knob = knobs.get(line.name)
            if knob is None or not _same(knob, line.value or ""):
                said = f"{knob.value} ({knob.source})" if knob else "no such parameter"
                wrong.append(f"{line.name} = {line.value}: {installation.library.id} says {said}")
            else:
                seen += 1
    notes = list(done.notes)
    if seen and not wrong:
        notes.append(f"ompi_info of {installation.library.id} reports these values")
    return msgspec.structs.replace(done, notes=notes, not_in_force=wrong)


def _same(knob: Knob, written: str) -> bool:
    """Numbers are reported by the names that they have."""
    reported = knob.value
    if reported in knob.choices and written == str(knob.choices[reported]):
        return True
    return reported == written or {reported, written} in ({"true", "1"}, {"false", "0"})
