"""All that is said of a recording."""

from __future__ import annotations

import msgspec

from plumbline.detect.detecting import Detected, detect
from plumbline.detect.findings import HandMade, place_of, with_instances
from plumbline.detect.instances import Instance
from plumbline.detect.neighbours import neighbourhoods
from plumbline.detect.recording import Recording
from plumbline.detect.uses import uses


class Analysed(msgspec.Struct, frozen=True, eq=False):
    """`found`: collectives made by hand, mistaken uses of real ones, neighbourhoods, incomplete
    ones; in each the longest first. `instances`: what each is made of; none where it is a use or a
    neighbourhood."""

    detected: Detected
    found: list[HandMade]
    instances: list[list[Instance]]


def analysed(recording: Recording) -> Analysed:
    detected = detect(recording)
    found = with_instances(detected)
    found += [(finding, []) for finding in (*uses(recording), *neighbourhoods(detected))]
    found.sort(key=lambda pair: place_of(pair[0]))
    return Analysed(detected, [pair[0] for pair in found], [pair[1] for pair in found])


def analysis(recording: Recording) -> list[HandMade]:
    return analysed(recording).found
