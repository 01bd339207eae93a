"""All that is said of a recording."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from plumbline.detect import core
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
    with _uncollected(), core.memory_kept():
        return _analysed(recording)


@contextmanager
def _uncollected() -> Iterator[None]:
    """An analysis makes many objects that stay, and no circles: to look for these again and again
    is a tenth of the time of a long recording."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _analysed(recording: Recording) -> Analysed:
    detected = detect(recording)
    found = with_instances(detected)
    found += [(finding, []) for finding in (*uses(recording), *neighbourhoods(detected))]
    found.sort(key=lambda pair: place_of(pair[0]))
    return Analysed(detected, [pair[0] for pair in found], [pair[1] for pair in found])


def analysis(recording: Recording) -> list[HandMade]:
    return analysed(recording).found
