"""A recording in which collectives were found, as the database keeps it: with a saving, and with
markup where names of an application may stand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from plumbline.detect import findings
from plumbline.detect.analysis import analysis
from plumbline.detect.findings import Call, HandMade, Site, SizeSaving
from plumbline.detect.recording import Recording
from plumbline.detect.savings import saving
from plumbline_db.connection import Database
from plumbline_db.findings import Detection, put_detection
from tests.bench.detection import broadcasts, negatives, spmd

MARKUP = '"><script>alert(1)</script>&{{ 7 * 7 }}'


def program(me: spmd.Rank) -> spmd.Waits:
    for _ in range(3):
        yield from broadcasts.binomial(me, me.data(1000), 0)
    yield from negatives.halo_around(me)


def found(recording: Recording) -> list[HandMade]:
    """With a saving, and with markup where names of the application may stand."""
    first, *others = analysis(recording)
    calls = SizeSaving(8000, 3, Call(0.3, 0.3, 0.3), Call(0.1, 0.1, 0.1))
    first = msgspec.structs.replace(
        first,
        sites=(*first.sites, Site("send", MARKUP, (MARKUP, MARKUP), (0,), 1)),
        remarks=(MARKUP,),
        work_seconds=1.0,
    )
    return [msgspec.structs.replace(first, saving=saving(first, "replay", "", [calls])), *others]


def detection() -> Detection:
    recording = msgspec.structs.replace(spmd.run(6, program), command=("./app", MARKUP))
    kept_as = findings.kept(recording, Path("/tmp") / MARKUP, found(recording), replayed=True)
    return msgspec.structs.replace(kept_as, id="first", library=MARKUP)


def store(db: Database) -> None:
    """`first`, and `old`, which no version of today has written."""
    put_detection(db, detection())
    old = '[{"is": "of another version"}]'
    put_detection(db, msgspec.structs.replace(detection(), id="old", findings=old))
