"""All that is said of a recording."""

from __future__ import annotations

from plumbline.detect.detecting import detect
from plumbline.detect.findings import HandMade, findings, ordered
from plumbline.detect.neighbours import neighbourhoods
from plumbline.detect.recording import Recording
from plumbline.detect.uses import uses


def analysis(recording: Recording) -> list[HandMade]:
    """Collectives made by hand, mistaken uses of real ones, neighbourhoods, incomplete ones; in
    each the longest first."""
    detected = detect(recording)
    return ordered([*findings(detected), *uses(recording), *neighbourhoods(detected)])
